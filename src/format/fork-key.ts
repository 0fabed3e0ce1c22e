import type { ContextId, TurnId } from '../base/brand.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import { hashText } from '../base/hash.ts';

// The document that remembers which context an idempotency key made. docs/format/docs-and-logs.md

const HASH_CHARS = 32;

export interface ForkKey {
  readonly context: ContextId;
  /** Of what was said about the context when it was made. */
  readonly said: string;
}

/** One for each (turn, key); turn 0 is for contexts that begin empty. */
export function forkKeyName(base: TurnId, key: string): string {
  return `fork-keys/${hashText(`quipu.fork\0${base}\0${key}`).slice(0, HASH_CHARS)}.json`;
}

export function toForkKey(context: ContextId, meta: object): ForkKey {
  return { context, said: hashText(canonicalJson(meta)).slice(0, HASH_CHARS) };
}

export function encodeForkKey({ context, said }: ForkKey): string {
  return canonicalJson({ context: String(context), said });
}

/** Trusts the text to be of such a document. */
export function decodeForkKey(text: string): ForkKey {
  const { context, said } = JSON.parse(text) as { context: string; said: string };
  return { context: BigInt(context) as ContextId, said };
}
