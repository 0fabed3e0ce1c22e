import type { Change } from '../batch.ts';
import type { ContextMeta } from '../rows.ts';

// A change as text, for the servers that did not make it. The text is JSON. JSON has no form for ids and bytes, so
// they are written as objects with one key that no row has. Metadata of contexts may have any key, and is embedded
// as a text.

export function encodeChange(change: Change): string {
  const contexts = change.contexts.map((row) => ({ ...row, meta: JSON.stringify(row.meta) }));
  const deltas = change.deltas.map((delta) => ({ ...delta, bytes: toBase64(delta.bytes) }));
  return JSON.stringify({ ...change, contexts, deltas }, (_key, value: unknown) =>
    typeof value === 'bigint' ? { $id: String(value) } : value,
  );
}

type Encoded = Omit<Change, 'contexts' | 'deltas'> & {
  readonly contexts: readonly (Omit<Change['contexts'][number], 'meta'> & { meta: string })[];
  readonly deltas: readonly (Omit<Change['deltas'][number], 'bytes'> & { bytes: string })[];
};

export function decodeChange(text: string): Change {
  const change = JSON.parse(text, (_key, value: unknown) => {
    const isId = typeof value === 'object' && value !== null && '$id' in value;
    return isId && typeof value.$id === 'string' ? BigInt(value.$id) : value;
  }) as Encoded;
  return {
    ...change,
    contexts: change.contexts.map((row) => ({ ...row, meta: JSON.parse(row.meta) as ContextMeta })),
    deltas: change.deltas.map((delta) => ({
      ...delta,
      bytes: new Uint8Array(Buffer.from(delta.bytes, 'base64')),
    })),
    // An open turn has no payload; JSON leaves the key out.
    opened: change.opened.map((row) => ({ ...row, payload: undefined })),
  };
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
