import { beforeEach, describe, expect, it } from 'vitest';
import { RamIo } from '../files/ram-io.ts';
import {
  extract,
  parseQuery,
  pathToQuery,
  RESOLVE_BYTES_MAX,
  resolveUrl,
  type UrlSource,
} from './resolve-url.ts';

let io: RamIo;
let sources: readonly UrlSource[];

async function put(path: string, text: string): Promise<void> {
  const file = await io.open(path, 'create');
  await file.truncate(0);
  await file.write(Buffer.from(text), 0);
}

beforeEach(async () => {
  io = new RamIo();
  await io.mkdir('/a');
  sources = [{ io, folder: '/a', inMemory: false }];
});

const DOCUMENT =
  '{"foo":{"bar":[10,20,{"baz":"x"}]},"a-b":1,"a.b":2,"we]ird":3,"0":"zero","it\'s":5,"n":null}';

describe('artifact://', () => {
  it.each([
    ['artifact://', 'artifact:// URL requires a numeric ID: artifact://0'],
    ['artifact://abc', 'artifact:// ID must be numeric, got: abc'],
    ['artifact://-1', 'artifact:// ID must be numeric, got: -1'],
    ['artifact://3:1-9', 'artifact:// ID must be numeric, got: 3:1-9'],
    ['artifact://%2e%2e', 'artifact:// ID must be numeric, got: ..'],
    ['http://x', 'Unknown protocol: http://\nSupported: agent://, artifact://'],
    ['blob:sha256:00', 'Unknown protocol: blob://\nSupported: agent://, artifact://'],
  ])('refuses %s', async (url, message) => {
    await expect(resolveUrl([], url)).rejects.toMatchObject({ code: 'INVALID', message });
  });

  it('says what there is when something is missing', async () => {
    const gone = [{ io, folder: '/gone', inMemory: false }];
    await expect(resolveUrl([], 'artifact://0')).rejects.toThrow(
      'No session - artifacts unavailable',
    );
    await expect(resolveUrl(gone, 'artifact://0')).rejects.toThrow('No artifacts directory found');
    await expect(resolveUrl(sources, 'artifact://1')).rejects.toThrow(
      'Artifact 1 not found. Available: none',
    );
    for (const name of ['10.bash.log', '2.bash.log', '0.x.log', '7.log', 'draft.txt', '0-A.md']) {
      await put(`/a/${name}`, name);
    }
    await expect(resolveUrl(sources, 'artifact://1')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'Artifact 1 not found. Available: 0, 2, 10',
    });
    await expect(resolveUrl(sources, 'artifact://007')).rejects.toThrow('Artifact 007 not found');
  });

  it('gives the exact text, the first of two files, and no folder', async () => {
    await put('/a/3.bash.log', 'text\n');
    await put('/a/3.read.log', 'other');
    const note = '2 files have the id 3; this is 3.bash.log';
    expect(await resolveUrl(sources, 'artifact://3')).toEqual({
      url: 'artifact://3',
      contentType: 'text/plain',
      content: 'text\n',
      size: 5,
      notes: [note],
    });
    await io.mkdir('/a/4.bash.log');
    await expect(resolveUrl(sources, 'artifact://4')).rejects.toThrow(
      'Artifact 4 resolved to a directory, not a file',
    );
  });

  it('resolves large ones only in parts', async () => {
    const size = RESOLVE_BYTES_MAX + 1;
    await put('/a/0.bash.log', 'x'.repeat(size));
    await expect(resolveUrl(sources, 'artifact://0')).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: `Artifact 0 is ${size} bytes; full resolution is limited to 8388608 bytes. Read it in parts with offset and limit.`,
    });
    const part = await resolveUrl(sources, 'artifact://0', { limit: 1 });
    expect(part.content).toBe(`${'x'.repeat(51_200)}\n\n[Showing the first 50.0KB of line 1]`);
  });
});

describe('agent://', () => {
  it.each([
    ['agent://', 'agent:// URL requires an output ID: agent://<id>'],
    ['agent://0-A/foo?q=.bar', 'agent:// URL cannot combine path extraction with ?q='],
    ['agent://0-A', 'No session - agent outputs unavailable'],
  ])('refuses %s', async (url, message) => {
    await expect(resolveUrl([], url)).rejects.toThrow(message);
  });

  it('looks names up and opens nothing else', async () => {
    const gone = [{ io, folder: '/gone', inMemory: false }];
    await expect(resolveUrl(gone, 'agent://0-A')).rejects.toThrow('No artifacts directory found');
    await expect(resolveUrl(sources, 'agent://x')).rejects.toThrow('Not found: x\nAvailable: none');
    await put('/a/10-B.md', 'b');
    await put('/a/0-A.md', 'a');
    await put('/a/0-A.1-C.md', 'c');
    await put('/x.md', 'secret');
    const open = io.open.bind(io);
    const opened: string[] = [];
    io.open = async (path, mode) => {
      opened.push(path);
      return open(path, mode);
    };
    await expect(resolveUrl(sources, 'agent://..%2F..%2Fx')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'Not found: ../../x\nAvailable: 0-A, 0-A.1-C, 10-B',
    });
    await expect(resolveUrl(sources, 'agent://0-a')).rejects.toThrow('Not found: 0-a');
    expect(opened).toEqual([]);
    const nested = await resolveUrl(sources, 'agent://0-A.1-C');
    expect(nested).toMatchObject({ contentType: 'text/markdown', content: 'c', size: 1 });
  });

  it('extracts from JSON', async () => {
    await put('/a/0-A.md', DOCUMENT);
    await put('/a/1-B.md', '# text');
    const asked = await resolveUrl(sources, 'agent://0-A?q=.foo.bar');
    expect(asked.content).toBe(JSON.stringify([10, 20, { baz: 'x' }], null, 2));
    expect(asked).toMatchObject({
      contentType: 'application/json',
      notes: ['Extracted: .foo.bar'],
    });
    expect((await resolveUrl(sources, 'agent://0-A/foo/bar/0')).content).toBe('10');
    expect((await resolveUrl(sources, 'agent://0-A?q=.no')).content).toBe('null');
    expect((await resolveUrl(sources, 'agent://0-A?q=foo[+bar+][%201%20]')).content).toBe('20');
    for (const plain of ['agent://0-A/', 'agent://0-A?q=', 'agent://0-A?other=1']) {
      expect((await resolveUrl(sources, plain)).content).toBe(DOCUMENT);
    }
    const whole = JSON.stringify(JSON.parse(DOCUMENT), null, 2);
    expect((await resolveUrl(sources, 'agent://0-A//')).content).toBe(whole);
    await expect(resolveUrl(sources, 'agent://1-B?q=.x')).rejects.toThrow(
      /^Output 1-B is not valid JSON: /,
    );
    await expect(resolveUrl([], 'agent://0-A/foo', { offset: 1 })).rejects.toThrow(
      'Cannot combine query extraction with offset/limit',
    );
  });
});

describe('queries', () => {
  const document: unknown = JSON.parse(DOCUMENT);

  it.each([
    ['.foo.bar[0]', 10],
    ['foo.bar[2].baz', 'x'],
    ['..foo...bar.[1]', 20],
    ['foo[ bar ][ 1 ]', 20],
    ['.foo.bar.1', 20],
    ['.a-b', 1],
    ["['a.b']", 2],
    ['["we]ird"]', 3],
    [String.raw`['it\'s']`, 5],
    ['.0', 'zero'],
    ['[0]', undefined],
    ['.foo.bar.length', undefined],
    ['.__proto__', undefined],
    ['.constructor', undefined],
    ['.foo.bar[9]', undefined],
    ['.foo.bar[-1]', undefined],
    ['.foo.bar[*]', undefined],
    ['.n.x', undefined],
    ['', document],
    [' . ', document],
  ])('%s', (query, value) => {
    expect(extract(document, parseQuery(query))).toEqual(value);
  });

  it.each([
    ['.foo[', 'missing ]'],
    ["['a", 'missing ]'],
    ['.foo[]', 'empty []'],
    ['.foo bar', "unexpected token ' '"],
    ['.foo|keys', "unexpected token '|'"],
    ['$.foo', "unexpected token '$'"],
    ['.foo]', "unexpected token ']'"],
  ])('refuses %s', (query, problem) => {
    expect(() => parseQuery(query)).toThrow(`Invalid query: ${problem} in ${query}`);
  });

  it.each([
    ['foo/bar/0', '.foo.bar[0]'],
    ['foo//bar/', '.foo.bar'],
    ['a%2Eb', "['a.b']"],
    ["it's", String.raw`['it\'s']`],
    ['%zz', "['%zz']"],
  ])('takes the path %s for %s', (path, query) => {
    expect(pathToQuery(path)).toBe(query);
  });
});

describe('parts of a text', () => {
  async function read(text: string, offset?: number, limit?: number): Promise<string> {
    await put('/a/0.x.log', text);
    const range = {
      ...(offset !== undefined && { offset }),
      ...(limit !== undefined && { limit }),
    };
    return (await resolveUrl(sources, 'artifact://0', range)).content;
  }
  const FIVE = 'l1\nl2\nl3\nl4\nl5';

  it('gives exactly the lines asked for', async () => {
    expect(await read(FIVE, 2, 2)).toBe(
      'l2\nl3\n\n[2 more lines in resource. Use offset=4 to continue]',
    );
    expect(await read(FIVE, 4, 10)).toBe('l4\nl5');
    expect(await read(FIVE, undefined, 5)).toBe(FIVE);
    expect(await read('a\nb\n', 3)).toBe('');
    expect(await read(FIVE, 6)).toBe(
      'Offset 6 is beyond end of resource (5 lines total). Use offset=1 to read from the start, or offset=5 to read the last line.',
    );
  });

  it('stops at lines and bytes', async () => {
    const many = Array.from({ length: 3001 }, (_, n) => `${n + 1}`).join('\n');
    expect(await read(many, 1)).toMatch(
      /\n3000\n\n\[Showing lines 1-3000 of 3001\. Use offset=3001 to continue\]$/,
    );
    const wide = Array.from({ length: 60 }, () => 'y'.repeat(1023)).join('\n');
    const page = await read(wide, 2);
    expect(page).toMatch(
      /\[Showing lines 2-51 of 60 \(50\.0KB limit\)\. Use offset=52 to continue\]$/,
    );
    expect(page.indexOf('\n\n')).toBe(50 * 1024 - 1);
    const long = await read(`${'é'.repeat(30_000)}\nnext`, 1);
    expect(long).toBe(
      `${'é'.repeat(25_600)}\n\n[Showing lines 1-1 of 2 (50.0KB limit). Use offset=2 to continue]`,
    );
  });

  it.each([
    [0, undefined, 'offset must be an integer >= 1, got: 0'],
    [1.5, undefined, 'offset must be an integer >= 1, got: 1.5'],
    [undefined, -1, 'limit must be an integer >= 1, got: -1'],
  ])('refuses offset %s, limit %s', async (offset, limit, message) => {
    await expect(read(FIVE, offset, limit)).rejects.toMatchObject({ code: 'INVALID', message });
  });
});
