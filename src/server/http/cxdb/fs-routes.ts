import { z } from 'zod';
import { NO_TURN, type Hash, type TurnId } from '../../../base/brand.ts';
import { QuipuError, notFound, tooLarge, invalid } from '../../../base/errors.ts';
import { mustGetTurn } from '../../../context/turns/read-turns.ts';
import type { Engine } from '../../../engine/engine.ts';
import { jsonReply, type HttpRequest, type Reply, type Route } from '../exchange/route.ts';
import { ofTurn } from '../exchange/schemas.ts';
import { HASH_BYTES, bytesToHash } from '../../../base/hash.ts';
import { decodeMsgpack } from '../../../context/payloads/binary-values.ts';

/** Turns that are asked for their root at a time, on the way to the beginning. */
const STEP = 1024;
/** A larger file is read as its bytes: in JSON it is held as a whole. */
const JSON_FILE_BYTES_MAX = 16 * 1024 * 1024;
const ERASED = /^0+$/;

const entryJson = z.strictObject({
  name: z.string(),
  kind: z.enum(['file', 'dir', 'symlink']),
  mode: z.string().describe('Octal'),
  size: z.number(),
  hash: z.string(),
});
const listing = z.strictObject({
  turn_id: z.string(),
  path: z.string(),
  fs_root_hash: z.string(),
  entries: z.array(entryJson),
});
const EXAMPLE_ENTRY = { name: 'README.md', kind: 'file', mode: '644', size: 14, hash: 'ab' };
const EXAMPLE = { turn_id: '2', path: '', fs_root_hash: 'cd', entries: [EXAMPLE_ENTRY] };
/** Of cxdb's routes, unknown keys are ignored. */
const format = z.object({
  format: z.string().optional().describe('`json`: with what is known of it'),
});

export const fsRoutes: readonly Route[] = [
  ofTurn.get('/fs', {
    name: 'listSnapshot',
    summary: 'A folder of the file system at a turn: its own root, or the nearest one before it',
    query: z.object({ path: z.string().optional().describe('Default: the root') }),
    answer: { what: 'The files and folders in it', json: listing, example: EXAMPLE },
    async give({ params: { id }, query: { path = '' }, request, engine }) {
      const root = await inheritedRoot(request, id);
      const folder = await findEntry(engine, root, toParts(path));
      return list({ engine, id, root, path }, folder);
    },
  }),
  ofTurn.get('/fs/:path{.+}', {
    name: 'readSnapshot',
    summary: 'A file of the file system at a turn, the target of a link, or a folder as a list',
    query: format,
    answer: {
      what: 'The bytes; `X-Fs-Hash` and `X-Fs-Mode` tell more',
      type: 'application/octet-stream',
    },
    async run({ params: { id, path }, query, request, engine }) {
      const root = await inheritedRoot(request, id);
      const entry = await findEntry(engine, root, toParts(path));
      if (entry === undefined || entry.kind === 'dir')
        return jsonReply(await list({ engine, id, root, path }, entry));
      const stat = await engine.statBlob(entry.hash);
      if (stat === undefined) throw notFound('blob', entry.hash);
      if (query.format === 'json') return inJson({ engine, id, path }, entry, stat.size);
      return {
        type: typeOf(entry.name),
        headers: {
          'X-Fs-Hash': entry.hash,
          'X-Fs-Mode': entry.mode.toString(8),
          'Content-Length': String(stat.size),
          // Whoever wrote the file must not run anything in the name of this server.
          'Content-Security-Policy': "sandbox; default-src 'none'",
        },
        body: engine.readBlob(entry.hash),
      };
    },
  }),
];

/** The root of the turn, or of the nearest turn before it that has one. NOT_FOUND when none has. */
async function inheritedRoot(
  { service, signal }: Pick<HttpRequest, 'service' | 'signal'>,
  id: TurnId,
): Promise<Hash> {
  const { engine } = service.served;
  let at: TurnId = (await mustGetTurn(engine, id)).id;
  while (at !== NO_TURN && !signal.aborted) {
    const rows = await engine.walkBack(at, STEP);
    const roots = new Map(
      (await engine.getFsRoots(rows.map((row) => row.id))).map(({ turn, root }) => [turn, root]),
    );
    const nearest = rows.find((row) => roots.has(row.id));
    const root = nearest && roots.get(nearest.id);
    if (root !== undefined && !ERASED.test(root)) return root;
    if (root !== undefined) break;
    at = rows.at(-1)?.parent ?? NO_TURN;
  }
  throw notFound('snapshot', id, `turn ${id} has no snapshot of a file system`);
}

interface Place {
  readonly engine: Engine;
  readonly id: TurnId;
  readonly path: string;
}

async function list(
  { engine, id, root, path }: Place & { readonly root: Hash },
  folder: TreeEntry | undefined,
): Promise<object> {
  if (folder !== undefined && folder.kind !== 'dir') {
    throw new QuipuError('INVALID', `${folder.name} is not a folder`, { what: 'path' });
  }
  const entries = await readTree(engine, folder?.hash ?? root);
  return { turn_id: String(id), path, fs_root_hash: root, entries: entries.map(toJson) };
}

async function inJson({ engine, id, path }: Place, entry: TreeEntry, size: number): Promise<Reply> {
  if (size > JSON_FILE_BYTES_MAX) {
    const message = `the file has ${size} bytes; read it without format=json`;
    throw tooLarge('file', JSON_FILE_BYTES_MAX, size, message);
  }
  const bytes = await engine.viewBlob(entry.hash);
  if (bytes === undefined) throw notFound('blob', entry.hash);
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
  return jsonReply({ turn_id: String(id), path, ...toJson(entry), content_base64: content });
}

function toJson({ name, kind, mode, size, hash }: TreeEntry): z.infer<typeof entryJson> {
  return { name, kind, mode: mode.toString(8), size, hash };
}

const TEXT = /\.(?:txt|md|json|ya?ml|toml|csv|log|js|ts|tsx|jsx|go|rs|py|rb|java|c|h|cpp|sh|sql)$/i;
const PICTURE = /\.(png|jpe?g|gif|webp)$/i;

/** Text and pictures, which browsers only show. Everything else is bytes. */
function typeOf(name: string): string {
  if (TEXT.test(name)) return 'text/plain; charset=utf-8';
  const [, ending] = PICTURE.exec(name) ?? [];
  if (ending === undefined) return 'application/octet-stream';
  return `image/${ending.toLowerCase().replace('jpg', 'jpeg')}`;
}

// A folder of a snapshot is a blob: MessagePack, an array of maps with the keys 1 to 5, as numbers or as text.
//
// 1 name    text
// 2 kind    0 file, 1 folder, 2 symbolic link
// 3 mode    bits of POSIX
// 4 size    bytes of a file
// 5 hash    32 bytes: of the content, of the folder's own tree, or of the link's target
//
// Clients write these blobs, so nothing in them is trusted: names lead to no file of this machine, and a tree is
// measured before it is decoded.

const KINDS = ['file', 'dir', 'symlink'] as const;
/** About 100,000 entries. */
const TREE_BYTES_MAX = 8 * 1024 * 1024;
const PATH_PARTS_MAX = 256;

interface TreeEntry {
  readonly name: string;
  readonly kind: (typeof KINDS)[number];
  readonly mode: number;
  readonly size: number;
  readonly hash: Hash;
}

/** Throws INVALID for bytes that are not a tree. */
function parseTree(bytes: Uint8Array): readonly TreeEntry[] {
  let value: unknown;
  try {
    value = decodeMsgpack(bytes);
  } catch {
    throw noTree();
  }
  if (!Array.isArray(value)) throw noTree();
  return value.map(toEntry);
}

function toEntry(value: unknown): TreeEntry {
  if (typeof value !== 'object' || value === null) throw noTree();
  const fields = value as Readonly<Record<string, unknown>>;
  const { 1: name, 2: kind = 0, 3: mode = 0, 4: size = 0, 5: hash } = fields;
  const isHash = hash instanceof Uint8Array && hash.length === HASH_BYTES;
  if (typeof name !== 'string' || !isHash) throw noTree();
  return {
    name,
    kind: KINDS[Number(kind)] ?? 'file',
    mode: toCount(mode),
    size: toCount(size),
    hash: bytesToHash(hash),
  };
}

function toCount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;
}

/** The parts of a path in a snapshot. Throws INVALID for one that would lead up. */
function toParts(path: string): readonly string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..'))
    throw invalid('path', 'has "..", and a snapshot has nothing above its root');
  if (parts.some((part) => part.includes('\0'))) throw invalid('path', 'has a zero in it');
  if (parts.length > PATH_PARTS_MAX)
    throw invalid('path', `has more than ${PATH_PARTS_MAX} levels`);
  return parts;
}

/** The entry at a path; undefined for the root itself. NOT_FOUND when there is none. */
async function findEntry(
  engine: Engine,
  root: Hash,
  parts: readonly string[],
): Promise<TreeEntry | undefined> {
  let found: TreeEntry | undefined;
  for (const part of parts) {
    if (found !== undefined && found.kind !== 'dir') {
      throw invalid('path', `goes on after ${JSON.stringify(found.name)}, which is no folder`);
    }
    const entries = await readTree(engine, found?.hash ?? root);
    found = entries.find(({ name }) => name === part);
    if (found === undefined) throw nothingAt(parts.join('/'));
  }
  return found;
}

async function readTree(engine: Engine, hash: Hash): Promise<readonly TreeEntry[]> {
  const stat = await engine.statBlob(hash);
  if (stat === undefined) throw notFound('blob', hash, `there is no tree ${hash}`);
  if (stat.size > TREE_BYTES_MAX) {
    const message = `the tree ${hash} has ${stat.size} bytes, and ${TREE_BYTES_MAX} is the most`;
    throw tooLarge('tree', TREE_BYTES_MAX, stat.size, message);
  }
  const bytes = await engine.viewBlob(hash);
  if (bytes === undefined) throw notFound('blob', hash, `tree ${hash} is gone`);
  return parseTree(bytes);
}

function nothingAt(path: string): QuipuError<'NOT_FOUND'> {
  const shown = path.slice(0, 200);
  return notFound('path', shown, `the snapshot has nothing at ${shown}`);
}

function noTree(): QuipuError<'INVALID'> {
  return invalid('tree', 'is not a list of files and folders in MessagePack');
}
