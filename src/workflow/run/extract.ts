import { parseBoundedJson } from '../../base/bounded-json.ts';
import { toHash, type Hash } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import { kindOf } from '../../base/text.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { RoleDescriptor } from '../bundles/descriptor.ts';
import { findMarked, findMismatch } from '../bundles/json-schema.ts';
import { RunFailure } from '../bundles/run-command.ts';
import type { JsonObject } from '../home/check-input.ts';
import { isHash } from '../home/documents.ts';
import type { WorkflowsHome } from '../home/workflows-home.ts';
import { encodeText } from '../nodes/node-text.ts';

/** The parts of a role's raw output. `refs` name artifacts, in any of the forms of `resolveRef`. */
export interface Extracted {
  readonly meta: JsonObject;
  readonly contentPayload: string;
  readonly refs: readonly string[];
}

export type Extractor = (raw: string, role: RoleDescriptor) => Extracted | Promise<Extracted>;

const FENCE = /```json\s*\n([\s\S]*?)\n?```/g;
const IN_TEXT = /quipu:[0-9a-f]{64}|blob:sha256:[0-9a-f]{64}|artifact:\/\/[^\s"'`<>)\]]+/g;

/**
 * The built-in extractor: the last fenced block of JSON is `meta`, and the unchanged text is the content. The
 * references are those in the text and in the fields of `meta` that the schema marks.
 */
export const extractFenced: Extractor = (raw, { schema }) => {
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
};

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

export function markedIn(meta: JsonObject, schema: RoleDescriptor['schema']): readonly string[] {
  return schema === undefined ? [] : findMarked(schema, meta);
}

/** Checks that `meta` matches the role's schema, whichever extractor made it. */
export function assertMeta(meta: JsonObject, { schema }: RoleDescriptor): void {
  const wrong = schema && findMismatch(schema, meta);
  if (wrong !== undefined) throw new RunFailure(`meta does not match the schema: ${wrong}`);
}

const REF_FAULTS: readonly string[] = ['NOT_FOUND', 'INVALID', 'TOO_LARGE'];

export interface ResolvedRefs {
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
