import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { timersFireEarly } from '../../../test/support/early-timers.ts';
import { Artifacts } from '../artifacts/artifacts.ts';
import { RamIo } from '../files/ram-io.ts';
import { OutputSink, describeOutput, type OutputSummary, type SinkOptions } from './output-sink.ts';

interface Run extends OutputSummary {
  readonly artifact: string | undefined;
}

async function readText(io: RamIo, path: string): Promise<string> {
  const file = await io.open(path, 'read');
  const bytes = Buffer.alloc(await file.size());
  await file.read(bytes, 0);
  return bytes.toString('utf8');
}

async function run(
  options: SinkOptions,
  chunks: readonly (string | Uint8Array)[],
  notice?: string,
): Promise<Run> {
  const io = new RamIo();
  const artifacts = new Artifacts(io, '/a');
  const sink = new OutputSink({ artifact: () => artifacts.openDraft('bash'), ...options });
  for (const chunk of chunks) await sink.push(chunk);
  const summary = await sink.dump(notice);
  const names = await artifacts.listFiles();
  const artifact = names[0] === undefined ? undefined : await readText(io, `/a/${names[0]}`);
  expect(names.length).toBe(summary.artifactId === undefined ? 0 : 1);
  return { ...summary, artifact };
}

/** Options, chunks, output, other fields. */
const VECTORS: readonly [SinkOptions, readonly string[], string, Partial<Run>][] = [
  [{}, ['abc', 'def'], 'abcdef', { totalLines: 1 }],
  [{}, ['a\n', 'b\n\n', 'c'], 'a\nb\n\nc', { totalLines: 4 }],
  [{}, [], '', { totalLines: 0 }],
  [{}, ['\n'], '\n', { totalLines: 2 }],
  [
    { spillThreshold: 5 },
    ['abc', 'def'],
    'bcdef',
    { truncated: true, totalBytes: 6, outputBytes: 5, artifact: 'abcdef' },
  ],
  [{ spillThreshold: 6 }, ['abc', 'def'], 'abcdef', { truncated: false, artifact: undefined }],
  [
    { spillThreshold: 10, headBytes: 4 },
    ['head', 'abc', 'defgh'],
    'head\n[… 2B elided …]\ncdefgh',
    { elidedLines: 0, artifact: 'headabcdefgh' },
  ],
  [
    { spillThreshold: 5, headBytes: 4 },
    ['head', 'abc', 'defgh'],
    'he\n[… 7B elided …]\nfgh',
    { artifact: 'headabcdefgh' },
  ],
  [{ spillThreshold: 100, headBytes: 4 }, ['abc😀', 'x'], 'abc😀x', {}],
  [
    { spillThreshold: 20, headBytes: 8 },
    [...Array.from({ length: 11 }, (_, n) => `L${n}\n`), 'L11'],
    'L0\nL1\nL2\n[… 5 lines elided (17B) …]\n8\nL9\nL10\nL11',
    { totalBytes: 37, artifact: 'L0\nL1\nL2\nL3\nL4\nL5\nL6\nL7\nL8\nL9\nL10\nL11' },
  ],
  [
    { maxColumns: 8 },
    [`short\n${'x'.repeat(50)}\nfooter`],
    'short\nxxxxx…\nfooter',
    {
      truncated: false,
      columnTruncatedLines: 1,
      columnDroppedBytes: 45,
      columnMax: 8,
      artifact: `short\n${'x'.repeat(50)}\nfooter`,
    },
  ],
  [
    { maxColumns: 4 },
    ['ab', 'cd', 'efgh', 'ijkl\n', 'next'],
    'a…\nnext',
    { columnDroppedBytes: 11 },
  ],
  [{ maxColumns: 8 }, ['12345678\nok'], '12345678\nok', { artifact: undefined }],
  [{ maxColumns: 8 }, ['aé€😀zzzz\nok'], 'aé…\nok', { columnDroppedBytes: 11 }],
  [
    { spillThreshold: 12, headBytes: 6, maxColumns: 6 },
    ['0123456789\nab\n', 'cdefghijklmnop\n', 'END'],
    '012…\n[… 1 line elided (10B) …]\nEND',
    { columnDroppedBytes: 18, artifact: '0123456789\nab\ncdefghijklmnop\nEND' },
  ],
  [{}, ['start\r', 'one\r', 'two\r', '\n'], 'start\none\ntwo\n', { totalLines: 4 }],
  [{}, ['\u001b[3', '1mred\u001b[0m'], 'red', {}],
  [{}, ['\ud83d', '\ude00!'], '😀!', {}],
  [{ spillThreshold: 4 }, ['a😀b'], 'b', { totalBytes: 6, outputBytes: 1 }],
];

describe('OutputSink', () => {
  it.each(VECTORS)('%j of %j shows %j', async (options, chunks, output, fields) => {
    const result = await run(options, chunks);
    expect(result.output).toBe(output);
    expect(result).toMatchObject(fields);
    expect(result.artifact).toBe('artifact' in fields ? fields.artifact : result.artifact);
    // And the same however it comes in.
    const units = chunks.join('').split('');
    expect(await run(options, units)).toEqual(result);
    expect(await run(options, [chunks.join('')])).toEqual(result);
  });

  it('puts a notice in front, and names the artifact in one it suggests', async () => {
    const result = await run({}, ['hello\nworld'], 'notice');
    expect(result).toMatchObject({
      output: '[notice]\nhello\nworld',
      totalLines: 2,
      totalBytes: 11,
    });
    expect(describeOutput(result)).toBeUndefined();
    const cut = await run({ spillThreshold: 5 }, ['abcdef']);
    expect(describeOutput(cut)).toBe('Showing 5 of 6 bytes. All of it: artifact://0');
  });

  it('does not depend on how the text is cut into pieces', async () => {
    const words = [
      'a',
      'é',
      '€',
      '😀',
      '\n',
      '\r',
      '\u001b[31m',
      '\u001b]0;t\u0007',
      '\u0000',
      '\ud83d',
    ];
    const odd = [
      '\ude00',
      '\u001b',
      '[',
      '\u009b',
      '1m',
      '\u001b\\',
      '\u001bP1q#0~\u001b\\',
      'xyz',
    ];
    const text = fc.array(fc.constantFrom(...words, ...odd), { maxLength: 40 });
    const options = fc.record({
      spillThreshold: fc.integer({ min: 0, max: 24 }),
      headBytes: fc.integer({ min: 0, max: 12 }),
      maxColumns: fc.constantFrom(0, 4, 7),
      allowSixel: fc.boolean(),
    });
    const cuts = fc.infiniteStream(fc.integer({ min: 1, max: 5 }));
    await fc.assert(
      fc.asyncProperty(text, options, cuts, async (parts, given, sizes) => {
        const whole = parts.join('');
        const pieces: string[] = [];
        for (let at = 0; at < whole.length;) {
          const size = sizes.next().value as number;
          pieces.push(whole.slice(at, at + size));
          at += size;
        }
        const result = await run(given, [whole]);
        expect(await run(given, pieces)).toEqual(result);
        // And as bytes; a lone half of a character has none.
        const bytes = Buffer.from(whole.replaceAll(/\p{Surrogate}/gu, ''));
        const cut = [bytes.subarray(0, pieces.length), bytes.subarray(pieces.length)];
        expect(await run(given, cut)).toEqual(await run(given, [bytes.toString()]));
      }),
      { numRuns: 150 },
    );
  });

  it('takes bytes that end inside a character', async () => {
    const bytes = Buffer.from('grün 😀');
    const single = [...bytes].map((byte) => Uint8Array.of(byte));
    expect((await run({}, single)).output).toBe('grün 😀');
  });

  it('removes what only a terminal understands, and lets pictures through when told to', async () => {
    const picture = '\u001bP0;1q"1;1;2;2#0~~\u001b\\';
    const text = `a\u0007b\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\${picture}\tc\u0085`;
    expect((await run({}, [text])).output).toBe('ablink\tc');
    expect((await run({ allowSixel: true }, [text])).output).toBe(`ablink${picture}\tc`);
    // Bytes that look like the marks of the sink are text like any other.
    expect((await run({ allowSixel: true }, ['\u0000\u0001\u0000x\u0007'])).output).toBe('x');
    const endless = `\u001b]${'x'.repeat(5000)}`;
    expect((await run({}, [endless])).output).toBe(endless.slice(1));
  });

  it('tells of chunks at most once in a while, and loses none', async () => {
    const heard: string[] = [];
    const options = { onChunk: (text: string) => void heard.push(text), chunkThrottleMs: 60_000 };
    expect((await run(options, ['a', 'b', 'c'])).output).toBe('abc');
    expect(heard).toEqual(['a', 'bc']);
    vi.useFakeTimers();
    try {
      const sink = new OutputSink({ ...options, chunkThrottleMs: 100 });
      heard.length = 0;
      void sink.push('x');
      void sink.push('y');
      void sink.push('z');
      vi.advanceTimersByTime(150);
      expect(heard).toEqual(['x', 'yz']);
      void sink.push('gone');
      sink.replace('new');
      await sink.dump();
      expect(heard).toEqual(['x', 'yz', 'new']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is not early although its timers are', async () => {
    using _early = timersFireEarly(5);
    const began = performance.now();
    const told: number[] = [];
    const onChunk = (): void => void told.push(performance.now() - began);
    const sink = new OutputSink({ onChunk, chunkThrottleMs: 20 });
    for (let n = 0; n < 90; n += 1) {
      await sink.push('x');
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(told).toEqual([0, 20, 40, 60, 80]);
  });

  it('replaces what is shown', async () => {
    const sink = new OutputSink({ spillThreshold: 6, headBytes: 3 });
    await sink.push('0123456789');
    sink.replace('short');
    const summary = { output: 'short', truncated: false, totalBytes: 5, totalLines: 1 };
    expect(await sink.dump()).toMatchObject(summary);
  });

  it('keeps the beginning and the end of a file that has a limit', async () => {
    const text = Array.from({ length: 500 }, (_, n) => `line ${n} é\n`).join('');
    const capped = await run({ spillThreshold: 50, artifactMaxBytes: 200 }, text.split(/(?=\n)/));
    const [, head = '', notice = '', tail = ''] =
      /^([^]*?)\n(\[ARTIFACT TRUNCATED: .*\])\n([^]*)$/.exec(capped.artifact ?? '') ?? [];
    expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
    expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeGreaterThan(195);
    expect(notice).toMatch(
      /^\[ARTIFACT TRUNCATED: kept first \d+B \+ last \d+B of 5\.\dKB; 5\.\dKB elided from the middle\]$/,
    );
    const fits = await run({ spillThreshold: 5, artifactMaxBytes: 12 }, ['abcdef', 'ghijkl']);
    expect(fits.artifact).toBe('abcdefghijkl');
  });

  it('loses nothing to a listener that throws, now or later', async () => {
    for (const chunkThrottleMs of [0, 1]) {
      let calls = 0;
      const onChunk = (): void => {
        calls++;
        throw new Error('no ears');
      };
      const sink = new OutputSink({ onChunk, chunkThrottleMs });
      await sink.push('one ');
      await sink.push(Buffer.from('two '));
      await sleep(10);
      await sink.push('three');
      expect(await sink.dump()).toMatchObject({ output: 'one two three', chunkError: 'no ears' });
      expect(calls).toBeGreaterThan(1);
    }
  });

  it('ignores what comes after the end', async () => {
    const sink = new OutputSink();
    await sink.push('a');
    await sink.dump();
    await sink.push('b');
    expect((await sink.dump()).output).toBe('a');
    await sink.dispose();
    expect(() => new OutputSink({ maxColumns: -1 })).toThrow(/maxColumns/);
  });
});
