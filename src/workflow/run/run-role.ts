import type { Hash } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { kindOf } from '../../base/text.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { BundleHost } from '../bundles/bundle-host.ts';
import type { RoleDescriptor } from '../bundles/descriptor.ts';
import { runCommand, RunFailure } from '../bundles/run-command.ts';
import type { JsonObject } from '../home/check-input.ts';
import type { WorkflowsHome } from '../home/workflows-home.ts';
import { encodeText } from '../nodes/node-text.ts';
import { renderContext } from '../steps/context.ts';
import type { ThreadContext } from '../threads/workflows.ts';
import { assertMeta, extractFenced, markedIn, resolveRefs, type Extracted } from './extract.ts';

const ROLE_MS_DEFAULT = 600_000;

export interface RoleCall {
  readonly name: string;
  readonly role: RoleDescriptor;
  readonly context: ThreadContext;
  readonly host: BundleHost;
  readonly signal: AbortSignal;
  readonly cwd: string | undefined;
  readonly session: string | undefined;
  readonly note: (level: string, message: string) => void;
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
    const text = typeof raw === 'string' ? raw : undefined;
    if (text === undefined || text === '')
      throw new RunFailure('a summary is a text that is not empty');
    return { content: text, meta: {}, artifacts: [], puts: [] };
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

async function callRole({
  name,
  role,
  context,
  host,
  signal,
  cwd,
  note,
}: RoleCall): Promise<unknown> {
  const { timeoutMs = ROLE_MS_DEFAULT } = role;
  if (role.command === undefined) {
    const who = `the role ${name}`;
    return host.ask('role', [name, toRoleContext(context)], { who, timeoutMs, signal });
  }
  const env = {
    QUIPU_THREAD: context.thread.id,
    QUIPU_ROLE: name,
    QUIPU_HEAD: context.thread.head,
  };
  return runCommand(role.command, {
    input: renderContext(context),
    timeoutMs,
    signal,
    cwd,
    env,
    onStderr: (text) => note('warn', text),
  });
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
    steps: steps.map(({ hash, role, content, meta, refs }) => ({
      hash,
      role,
      content,
      meta,
      refs,
    })),
  };
}

type WithPuts = Extracted & { readonly puts: readonly BlobPut[] };

async function extract({ role, host }: RoleCall, raw: unknown): Promise<WithPuts> {
  if (typeof raw !== 'string') return takeObject(raw, role);
  if (!host.hasExtract) return { ...(await extractFenced(raw, role)), puts: [] };
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
