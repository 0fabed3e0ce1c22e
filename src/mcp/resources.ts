import { invalid, notFound } from '../base/errors.ts';
import type { Store } from '../store/store.ts';
import { PART_BYTES, cutPart, fitEntries, readBytes, readPart } from './bounded-text.ts';
import { THREADS } from './threads.ts';

// Threads and blobs as resources. Content from outside is text, or bytes in base64. It never has a type that a client
// would show as more than text.

const PAGE = 50;

export const TEMPLATES: readonly { uriTemplate: string; name: string; description: string }[] = [
  {
    uriTemplate: 'quipu://contexts/{id}',
    name: 'context',
    description: 'The newest 50 turns of a context, as JSON. {id} is an id, or @ and a name.',
  },
  {
    uriTemplate: 'quipu://turns/{id}',
    name: 'turn',
    description: `The first ${PART_BYTES / 1024} KiB of the payload of a turn`,
  },
  {
    uriTemplate: 'quipu://blobs/{hash}',
    name: 'blob',
    description: `A blob of up to ${PART_BYTES / 1024} KiB by its BLAKE3 hash`,
  },
];

export interface ResourceList {
  readonly resources: { uri: string; name: string; mimeType: string }[];
  readonly nextCursor?: string;
}

export async function listResources(store: Store, cursor?: string): Promise<ResourceList> {
  const { threads, cursor: next } = await THREADS.context.list(store, { limit: PAGE, cursor });
  const resources = threads.map(({ id, name, title }) => ({
    uri: `quipu://contexts/${id}`,
    name: title ?? name ?? `context ${id}`,
    mimeType: 'application/json',
  }));
  return { resources, ...(next !== undefined && { nextCursor: next }) };
}

export type Content = { uri: string; mimeType: string } & ({ text: string } | { blob: string });

export async function readResource(store: Store, uri: string): Promise<Content> {
  const [, kind = '', escaped = ''] =
    /^quipu:\/\/(contexts|turns|blobs)\/([^/?#]{1,1600})$/.exec(uri) ?? [];
  const id = unescape(escaped);
  if (kind === 'contexts') {
    const page = await THREADS.context.read(store, id, { limit: PAGE });
    const text = JSON.stringify({ ...page, entries: fitEntries(page.entries) });
    return { uri, mimeType: 'application/json', text };
  }
  if (kind === 'turns') {
    const turn = await store.contexts.turn(id, { payload: false });
    if (turn === undefined) throw notFound('turn', id, `there is no turn ${id.slice(0, 100)}`);
    return { uri, mimeType: 'text/plain', text: (await readPart(store, turn, 0)).text };
  }
  if (kind === 'blobs') return readBlob(store, uri, id);
  throw invalid('uri', 'must be quipu://contexts/…, quipu://turns/… or quipu://blobs/…');
}

async function readBlob(store: Store, uri: string, hash: string): Promise<Content> {
  const found = await store.blobs.stat(hash);
  if (found === undefined) throw notFound('blob', hash, `there is no blob ${hash.slice(0, 100)}`);
  if (found.size > PART_BYTES)
    throw invalid(
      'uri',
      `names a blob of ${found.size} bytes; a resource has at most ${PART_BYTES}`,
    );
  const bytes = await readBytes(store, hash, 0);
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { uri, mimeType: 'application/octet-stream', blob: bytes.toString('base64') };
  }
  return { uri, mimeType: 'text/plain', text: cutPart(bytes, 0, bytes.length).text };
}

function unescape(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid('uri', 'has a percent sign that is not an escape; write %25 for the sign itself');
  }
}
