import { encode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { hashToBytes } from '../../src/base/hash.ts';
import type { Hash } from '../../src/base/brand.ts';
import { json, serveHttp } from './http-rig.ts';
import type { HttpRig } from './http-rig.ts';

// The phases of cxdb's own end-to-end test of snapshots, over this server: what its Go client uploads, and what its
// helpers ask over HTTP.

type Files = { readonly [name: string]: string | Files | { readonly link: string } };

const isLink = (file: string | Files | { readonly link: string }): file is { link: string } =>
  typeof file === 'object' && typeof file['link'] === 'string';

const put = async ({ store }: HttpRig, text: string): Promise<Hash> =>
  (await store.blobs.put(Buffer.from(text))).hash;

/** Uploads a folder as the Go client does: maps whose keys are numbers as text. */
async function upload(rig: HttpRig, files: Files): Promise<Hash> {
  const entries = [];
  for (const [name, file] of Object.entries(files)) {
    const kind = typeof file === 'string' ? 0 : isLink(file) ? 2 : 1;
    const text = typeof file === 'string' ? file : isLink(file) ? file.link : undefined;
    const hash = text === undefined ? await upload(rig, file as Files) : await put(rig, text);
    const size = text?.length ?? 0;
    entries.push({ 1: name, 2: kind, 3: kind === 1 ? 0o755 : 0o644, 4: size, 5: bytesOf(hash) });
  }
  return (await rig.store.blobs.put(encode(entries))).hash;
}

const bytesOf = (hash: Hash): Uint8Array => Uint8Array.from(hashToBytes(hash));

interface Listing {
  readonly fs_root_hash: string;
  readonly entries: readonly { readonly name: string; readonly kind: string; mode: string }[];
}

async function names(rig: HttpRig, turn: bigint, path = ''): Promise<string[]> {
  const at = path === '' ? '' : `/${path}`;
  const { entries } = await json<Listing>(rig.get(`/v1/turns/${turn}/fs${at}`));
  return entries.map(({ name, kind }) => `${name} ${kind}`);
}

async function content(rig: HttpRig, turn: bigint, path: string): Promise<string> {
  const answer = await rig.get(`/v1/turns/${turn}/fs/${path}`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).not.toContain('application/json');
  return answer.text();
}

const FIRST: Files = {
  'README.md': '# Test Project',
  src: { 'main.go': 'package main', 'utils.go': 'func util() {}' },
  config: { 'settings.json': '{"debug": true}' },
};

describe('snapshots over HTTP', () => {
  it('are those of the turn, or of the nearest turn before it', async () => {
    const rig = await serveHttp();
    const { contexts } = rig.store;
    const { id } = await contexts.create();
    const say = (fsRoot?: Hash) =>
      contexts.append(id, { type: 'n', payload: 1, ...(fsRoot !== undefined && { fsRoot }) });
    const before = await say();
    const first = await say(await upload(rig, FIRST));
    const second = await say();
    const { 'README.md': _, ...rest } = FIRST;
    const changed = { ...rest, docs: { 'INSTALL.md': '# Install' }, link: { link: 'docs' } };
    const third = await say(await upload(rig, { ...changed, src: { 'main.go': 'package main' } }));

    expect(await names(rig, first.id)).toEqual(['README.md file', 'src dir', 'config dir']);
    expect(await names(rig, second.id)).toEqual(await names(rig, first.id));
    expect(await content(rig, second.id, 'README.md')).toBe('# Test Project');
    expect(await names(rig, third.id)).toEqual([
      'src dir',
      'config dir',
      'docs dir',
      'link symlink',
    ]);
    expect(await content(rig, third.id, 'docs/INSTALL.md')).toBe('# Install');
    expect(await content(rig, third.id, 'link')).toBe('docs');
    expect(await content(rig, first.id, 'src/utils.go')).toBe('func util() {}');
    expect((await rig.get(`/v1/turns/${third.id}/fs/src/utils.go`)).status).toBe(404);
    expect((await rig.get(`/v1/turns/${before.id}/fs`)).status).toBe(404);
    expect((await rig.get('/v1/turns/999/fs')).status).toBe(404);

    const late = await say();
    await contexts.attach(late.id, await upload(rig, { 'late.txt': 'added later' }));
    expect(await content(rig, late.id, 'late.txt')).toBe('added later');
    // A fork inherits, too; and no other key of the query matters.
    const fork = await contexts.fork(second.id);
    const forked = await contexts.append(fork.id, { type: 'n', payload: 2 });
    expect(await names(rig, forked.id, 'src?unknown=1')).toEqual(['main.go file', 'utils.go file']);
  });

  it('reach far back, tell what is known of a file, and list by `path`', async () => {
    const rig = await serveHttp();
    const { id } = await rig.store.contexts.create();
    const deep = { deep: { nested: { path: { to: { file: 'deep content' } } } } };
    const fsRoot = await upload(rig, deep);
    await rig.store.contexts.append(id, { type: 'n', payload: 0, fsRoot });
    const many = Array.from({ length: 3000 }, (_, n) => ({ type: 'n', payload: n }));
    const last = (await rig.store.contexts.appendBatch(id, many)).at(-1)!;
    const answer = await rig.get(`/v1/turns/${last.id}/fs/deep/nested/path/to/file`);
    expect(await answer.text()).toBe('deep content');
    expect(answer.headers.get('x-fs-mode')).toBe('644');
    expect(answer.headers.get('content-security-policy')).toContain('sandbox');
    const path = '/fs/deep/nested/path/to/file?format=json';
    expect(await json(rig.get(`/v1/turns/${last.id}${path}`))).toMatchObject({
      turn_id: String(last.id),
      path: 'deep/nested/path/to/file',
      kind: 'file',
      content_base64: Buffer.from('deep content').toString('base64'),
    });
    const listed = await json<Listing>(rig.get(`/v1/turns/${last.id}/fs?path=deep/nested/`));
    expect(listed.entries).toMatchObject([{ name: 'path', kind: 'dir', mode: '755' }]);
    expect(listed.fs_root_hash).toBe(fsRoot);
  });

  it('leads nowhere else, whatever a tree or a path says', async () => {
    const rig = await serveHttp();
    const { id } = await rig.store.contexts.create();
    const secret = await put(rig, 'secret');
    const bad = [
      { 1: '../../etc/passwd', 2: 0, 5: bytesOf(secret) },
      { 1: 'x.html', 5: bytesOf(secret) },
    ];
    const trees = [encode(bad), encode({ a: 1 }), encode([{ 1: 'x' }]), Buffer.from('{"a":1}')];
    const at = [];
    for (const tree of trees) {
      const fsRoot = (await rig.store.blobs.put(tree)).hash;
      at.push((await rig.store.contexts.append(id, { type: 'n', payload: 1, fsRoot })).id);
    }
    const [named, ...others] = at;
    const status = async (path: string): Promise<number> =>
      (await rig.get(`/v1/turns/${path}`)).status;
    // Names are shown as they are, and reach nothing.
    expect(await names(rig, named!)).toEqual(['../../etc/passwd file', 'x.html file']);
    expect(await status(`${named}/fs/%2e%2e%2f%2e%2e%2fetc%2fpasswd`)).toBe(422);
    expect(await status(`${named}/fs?path=../../etc/passwd`)).toBe(422);
    expect(await status(`${named}/fs?path=a%00b`)).toBe(422);
    expect(await status(`${named}/fs?path=${'a/'.repeat(300)}`)).toBe(422);
    expect(await status(`${named}/fs/x.html/y`)).toBe(422);
    const page = await rig.get(`/v1/turns/${named}/fs/x.html`);
    expect(page.headers.get('content-type')).toBe('application/octet-stream');
    for (const turn of others) expect(await status(`${turn}/fs`)).toBe(422);
    // The keys may be numbers, and a tree that claims more than it holds costs nothing.
    const entry = [0x91, 0x83, 0x01, 0xa1, 0x66, 0x02, 0x00, 0x05, 0xc4, 0x20, ...bytesOf(secret)];
    for (const [tree, expected] of [
      [Uint8Array.from(entry), 200],
      [Uint8Array.from([0xdd, 0xff, 0xff, 0xff, 0xff]), 422],
    ] as const) {
      const fsRoot = (await rig.store.blobs.put(tree)).hash;
      const turn = await rig.store.contexts.append(id, { type: 'n', payload: 1, fsRoot });
      expect(await status(`${turn.id}/fs`)).toBe(expected);
    }
  });
});
