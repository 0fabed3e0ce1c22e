import { parseBoundedJson } from '../../base/bounded-json.ts';
import { toHash, type Hash } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { isQuipuError } from '../../base/errors.ts';
import { kindOf } from '../../base/text.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { BundleHost } from '../bundles/bundle-host.ts';
import type { RoleDescriptor } from '../bundles/descriptor.ts';
import { findMarked, findMismatch } from '../bundles/json-schema.ts';
import { runCommand, RunFailure } from '../bundles/run-command.ts';
import { isHash } from '../home/documents.ts';
import { encodeText } from '../home/nodes.ts';
import type { JsonObject, WorkflowsHome } from '../home/workflows-home.ts';
import { renderContext } from '../steps/walk-steps.ts';
import type { ThreadContext } from '../threads/workflows.ts';

const ROLE_MS_DEFAULT = 600_000;

export interface RoleCall {
  readonly name: string;
  readonly role: RoleDescriptor;
  readonly context: ThreadContext;
  readonly host: BundleHost;
  readonly signal: AbortSignal;
  readonly cwd: string | undefined;
  readonly session: string | undefined;
  /** Notes what the command printed to standard error. */
  readonly warn: (text: string) => void;
}

/** The result of a role, ready to be a step. */
export interface RoleOutcome {
  readonly content: string;
  readonly meta: JsonObject;
  readonly artifacts: readonly Hash[];
  readonly puts: readonly BlobPut[];
}

/** Runs a role by its function or its command and extracts its output. Throws RunFailure when the role fails. */
export async function runRole(home: WorkflowsHome, call: RoleCall): Promise<RoleOutcome> {
  const raw = await callRole(call);
  const { role } = call;
  if (role.compact === true) {
    if (typeof raw !== 'string' || raw === '') {
      throw new RunFailure('a summary is a text that is not empty');
    }
    return { content: raw, meta: {}, artifacts: [], puts: [] };
  }
  const { puts, ...extracted } = await extract(call, raw);
  assertMeta(extracted.meta, role);
  const resolved = await resolveRefs(home, extracted.refs, call.session);
  const content = extracted.contentPayload;
  return {
    content,
    meta: extracted.meta,
    artifacts: [...new Set([...resolved.hashes, ...puts.map(({ hash }) => hash)])],
    puts: [...resolved.puts, ...puts],
  };
}

async function callRole(call: RoleCall): Promise<unknown> {
  const { name, role, context, host, signal, cwd, warn } = call;
  const { timeoutMs = ROLE_MS_DEFAULT } = role;
  if (role.command === undefined) {
    const who = `the role ${name}`;
    return host.ask('role', [name, toRoleContext(context)], { who, timeoutMs, signal });
  }
  const { id, head } = context.thread;
  const env = { QUIPU_THREAD: id, QUIPU_ROLE: name, QUIPU_HEAD: head };
  const input = renderContext(context);
  return runCommand(role.command, { input, timeoutMs, signal, cwd, env, onStderr: warn });
}

/** The part of a thread that functions of a bundle see. */
export function toRoleContext({ thread, start, summary, steps }: ThreadContext): JsonObject {
  const { name, prompt, depth } = start;
  return {
    thread: thread.id,
    name,
    prompt,
    depth,
    ...(summary !== undefined && { summary }),
    steps: steps.map(({ hash, role, content, meta, refs }) => {
      return { hash, role, content, meta, refs };
    }),
  };
}

type WithPuts = Extracted & { readonly puts: readonly BlobPut[] };

async function extract({ role, host }: RoleCall, raw: unknown): Promise<WithPuts> {
  if (typeof raw !== 'string') return takeObject(raw, role);
  if (!host.hasExtract) return { ...extractFenced(raw, role), puts: [] };
  const value = await host.ask('extract', [raw, role], { who: 'extract' });
  const { meta = {}, contentPayload = raw, refs = [] } = asObject(value, 'extract');
  return checkExtracted({ meta, contentPayload, refs }, []);
}

/** A role that returns an object has extracted its output itself; `artifacts` are texts to store with it. */
function takeObject(raw: unknown, { schema }: RoleDescriptor): WithPuts {
  const { content, meta = {}, refs = [], artifacts = [], ...rest } = asObject(raw, 'a role');
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new RunFailure(`a role returned ${unknown}; known are content, meta, refs and artifacts`);
  }
  if (!Array.isArray(artifacts) || !artifacts.every((text) => typeof text === 'string')) {
    throw new RunFailure('artifacts is an array of texts');
  }
  const puts = artifacts.map((text: string) => encodeText(text));
  const extracted = checkExtracted({ meta, contentPayload: content, refs }, puts);
  return { ...extracted, refs: [...extracted.refs, ...markedIn(extracted.meta, schema)] };
}

function checkExtracted(
  { meta, contentPayload, refs }: Record<'meta' | 'contentPayload' | 'refs', unknown>,
  puts: readonly BlobPut[],
): WithPuts {
  if (kindOf(meta) !== 'object') throw new RunFailure(`meta is ${kindOf(meta)} and not an object`);
  if (typeof contentPayload !== 'string') {
    throw new RunFailure(`the content is ${kindOf(contentPayload)} and not a text`);
  }
  if (!Array.isArray(refs) || !refs.every((ref) => typeof ref === 'string')) {
    throw new RunFailure('refs is an array of texts');
  }
  // A value that JSON cannot hold shows here, where the role is to blame.
  canonicalJson([meta, contentPayload]);
  return { meta: meta as JsonObject, contentPayload, refs, puts };
}

function asObject(value: unknown, who: string): Record<string, unknown> {
  if (kindOf(value) === 'object') return value as Record<string, unknown>;
  throw new RunFailure(`${who} returned ${kindOf(value)}; it is a text or an object`);
}

/** The parts of a role's raw output. `refs` name artifacts, in any of the forms of `resolveRef`. */
export interface Extracted {
  readonly meta: JsonObject;
  readonly contentPayload: string;
  readonly refs: readonly string[];
}

const FENCE = /```json\s*\n([\s\S]*?)\n?```/g;
const IN_TEXT = /quipu:[0-9a-f]{64}|blob:sha256:[0-9a-f]{64}|artifact:\/\/[^\s"'`<>)\]]+/g;

/**
 * The built-in extractor: the last fenced block of JSON is `meta`, and the unchanged text is the content. The
 * references are those in the text and in the fields of `meta` that the schema marks.
 */
export function extractFenced(raw: string, { schema }: RoleDescriptor): Extracted {
  const block = [...raw.matchAll(FENCE)].at(-1)?.[1];
  if (block === undefined && schema?.required !== undefined && schema.required.length > 0) {
    throw new RunFailure(
      'the output has no block of JSON, and the schema of the role asks for one',
    );
  }
  const meta = block === undefined ? {} : parseBlock(block);
  // A sentence may end with a reference.
  const inText = (raw.match(IN_TEXT) ?? []).map((ref) => ref.replace(/[.,;:!?]+$/, ''));
  return { meta, contentPayload: raw, refs: [...inText, ...markedIn(meta, schema)] };
}

function parseBlock(block: string): JsonObject {
  let value: unknown;
  try {
    value = parseBoundedJson(block);
  } catch (error) {
    throw new RunFailure(`the block of JSON in the output does not parse: ${String(error)}`);
  }
  if (kindOf(value) === 'object') return value as JsonObject;
  throw new RunFailure(`the block of JSON in the output is ${kindOf(value)} and not an object`);
}

function markedIn(meta: JsonObject, schema: RoleDescriptor['schema']): readonly string[] {
  return schema === undefined ? [] : findMarked(schema, meta);
}

/** Checks that `meta` matches the role's schema, whichever extractor made it. */
export function assertMeta(meta: JsonObject, { schema }: RoleDescriptor): void {
  const wrong = schema && findMismatch(schema, meta);
  if (wrong !== undefined) throw new RunFailure(`meta does not match the schema: ${wrong}`);
}

const REF_FAULTS: readonly string[] = ['NOT_FOUND', 'INVALID', 'TOO_LARGE'];

interface ResolvedRefs {
  readonly hashes: readonly Hash[];
  /** Texts of sessions among the artifacts, to be stored with the step: a session keeps its own as files. */
  readonly puts: readonly BlobPut[];
}

type RefsHome = Pick<WorkflowsHome, 'engine' | 'readArtifact'>;

/** Returns the blobs behind references, each once. A reference to a missing blob is the step's error, never an edge. */
export async function resolveRefs(
  home: RefsHome,
  refs: readonly string[],
  session?: string,
): Promise<ResolvedRefs> {
  const hashes = new Set<Hash>();
  const puts = new Map<Hash, BlobPut>();
  for (const ref of new Set(refs)) {
    if (ref.startsWith('artifact://')) {
      const put = encodeText(await readArtifact(home, ref, session));
      puts.set(put.hash, put);
      hashes.add(put.hash);
    } else {
      hashes.add(await resolveRef(home.engine, ref));
    }
  }
  return { hashes: [...hashes], puts: [...puts.values()] };
}

async function readArtifact(
  home: RefsHome,
  ref: string,
  session: string | undefined,
): Promise<string> {
  if (home.readArtifact === undefined) {
    throw new RunFailure(`the output refers to ${ref}, and there are no sessions here`);
  }
  try {
    return await home.readArtifact(ref, session);
  } catch (error) {
    // A disk error is not the role's fault, and the thread stays to be resumed.
    if (!isQuipuError(error) || !REF_FAULTS.includes(error.code)) throw error;
    throw new RunFailure(`the output refers to ${ref}: ${error.message}`);
  }
}

async function resolveRef(engine: Engine, ref: string): Promise<Hash> {
  const [, sha256] = /^blob:sha256:([0-9a-f]{64})$/.exec(ref) ?? [];
  if (sha256 !== undefined) {
    const hash = await engine.findBySha256(sha256);
    if (hash !== undefined) return hash;
    throw new RunFailure(`the output refers to ${ref}, which is not stored`);
  }
  const name = ref.replace(/^(?:quipu|b3):/, '');
  if (!isHash(name))
    throw new RunFailure(`the output refers to ${JSON.stringify(ref)}, which is no reference`);
  if (await engine.hasBlob(toHash(name))) return name;
  throw new RunFailure(`the output refers to ${ref}, which is not stored`);
}
