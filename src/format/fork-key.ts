import type { ContextId, TurnId } from '../base/brand.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import { hashText } from '../base/hash.ts';

// The document that remembers which context an idempotency key made. docs/format/docs-and-logs.md

const HASH_CHARS = 32;

export interface ForkKey {
  readonly context: ContextId;
  /** The hash of the metadata that the context was made with. */
  readonly said: string;
}

/** The name of the document, one for each (turn, key). Turn 0 is for contexts that begin empty. */
export function forkKeyName(base: TurnId, key: string): string {
  return `fork-keys/${hashText(`quipu.fork\0${base}\0${key}`).slice(0, HASH_CHARS)}.json`;
}

export function toForkKey(context: ContextId, meta: object): ForkKey {
  return { context, said: hashText(canonicalJson(meta)).slice(0, HASH_CHARS) };
}

export function encodeForkKey({ context, said }: ForkKey): string {
  return canonicalJson({ context: String(context), said });
}

/** Trusts that the text comes from such a document. */
export function decodeForkKey(text: string): ForkKey {
  const { context, said } = JSON.parse(text) as { context: string; said: string };
  return { context: BigInt(context) as ContextId, said };
}
