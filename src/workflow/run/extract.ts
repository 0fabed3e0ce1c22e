import { toHash } from '../../base/brand.ts';
import type { Hash } from '../../base/brand.ts';
import { kindOf } from '../../base/check-text.ts';
import type { Engine } from '../../engine/engine.ts';
import type { JsonObject } from '../nodes.ts';
import { isHash } from '../thread-index.ts';
import { findMarked, findMismatch } from './json-schema.ts';
import type { RoleDescriptor } from './descriptor.ts';
import { RunFailure } from './run-failure.ts';

/** What a role's raw output comes to. `refs` name artifacts, in any of the forms of `resolveRef`. */
export interface Extracted {
  readonly meta: JsonObject;
  readonly contentPayload: string;
  readonly refs: readonly string[];
}

export type Extractor = (raw: string, role: RoleDescriptor) => Extracted | Promise<Extracted>;

const FENCE = /```json\s*\n([\s\S]*?)\n?```/g;
const IN_TEXT = /quipu:[0-9a-f]{64}|blob:sha256:[0-9a-f]{64}|artifact:\/\/[^\s"'`<>)\]]+/g;

/**
 * The built-in one: the last fenced block of JSON is `meta`, the text as it is is the content, and the
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
  const inText = raw.match(IN_TEXT) ?? [];
  return { meta, contentPayload: raw, refs: [...inText, ...markedIn(meta, schema)] };
};

function parseBlock(block: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(block);
  } catch (error) {
    throw new RunFailure(`the block of JSON in the output does not parse: ${String(error)}`);
  }
  if (kindOf(value) === 'object') return value as JsonObject;
  throw new RunFailure(`the block of JSON in the output is ${kindOf(value)} and not an object`);
}

export function markedIn(meta: JsonObject, schema: RoleDescriptor['schema']): readonly string[] {
  return schema === undefined ? [] : findMarked(schema, meta);
}

/** Whatever extracted it, `meta` is what the role's schema says. */
export function assertMeta(meta: JsonObject, { schema }: RoleDescriptor): void {
  const wrong = schema && findMismatch(schema, meta);
  if (wrong !== undefined) throw new RunFailure(`meta does not match the schema: ${wrong}`);
}

/** The blobs behind references, each once. One that does not exist is the step's error, never an edge. */
export async function resolveRefs(
  engine: Engine,
  refs: readonly string[],
): Promise<readonly Hash[]> {
  const hashes = new Set<Hash>();
  for (const ref of refs) hashes.add(await resolveRef(engine, ref));
  return [...hashes];
}

async function resolveRef(engine: Engine, ref: string): Promise<Hash> {
  const [, sha256] = /^blob:sha256:([0-9a-f]{64})$/.exec(ref) ?? [];
  if (sha256 !== undefined) {
    const hash = await engine.findBySha256(sha256);
    if (hash !== undefined) return hash;
    throw new RunFailure(`the output refers to ${ref}, which is not stored`);
  }
  if (ref.startsWith('artifact://')) {
    throw new RunFailure(
      `the output refers to ${ref}, which only a session can resolve; name its blob instead`,
    );
  }
  const name = ref.replace(/^(?:quipu|b3):/, '');
  if (!isHash(name))
    throw new RunFailure(`the output refers to ${JSON.stringify(ref)}, which is no reference`);
  if (await engine.hasBlob(toHash(name))) return name;
  throw new RunFailure(`the output refers to ${ref}, which is not stored`);
}
