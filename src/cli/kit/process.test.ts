import { expect, it } from 'vitest';
import { processStreams, widthOf } from './process.ts';

function fakeProcess(isTTY: boolean): { readonly streams: Process; readonly written: unknown[] } {
  const written: unknown[] = [];
  const stream = {
    isTTY,
    on: () => undefined,
    write: (data: unknown, done?: () => void) => {
      written.push(data);
      done?.();
    },
  };
  return { streams: { stdout: stream, stderr: stream } as unknown as Process, written };
}
type Process = Pick<NodeJS.Process, 'stdout' | 'stderr'>;

const EVIL = 'a\u001b]0;x\u0007\u009b2J\r\u202e\u2066\u061c\u007f\n\tb\n';
const SHOWN = 'a\\u001b]0;x\\u0007\\u009b2J\\r\\u202e\\u2066\\u061c\\u007f\n\tb\n';

it('shows the codes of a terminal as escapes, whatever is printed', async () => {
  const { streams, written } = fakeProcess(true);
  const { out, err, status } = processStreams(streams);
  await out(EVIL);
  err(EVIL);
  status('10% \u001b[2J');
  expect(written).toEqual([SHOWN, SHOWN, '\r\u001b[K10% \\u001b[2J']);
});

it('changes no value of JSON by that', async () => {
  const { streams, written } = fakeProcess(true);
  const value = { [EVIL]: EVIL };
  await processStreams(streams).out(JSON.stringify(value));
  expect(written[0]).not.toMatch(/[\u007f-\u009f\u202e]/u);
  expect(JSON.parse(String(written[0]))).toEqual(value);
});

it('leaves bytes as they are, and text for a file or a pipe', async () => {
  const [terminal, pipe] = [fakeProcess(true), fakeProcess(false)];
  await processStreams(terminal.streams).out(Buffer.from(EVIL));
  await processStreams(pipe.streams).out(EVIL);
  processStreams(pipe.streams).err(EVIL);
  expect(terminal.written).toEqual([Buffer.from(EVIL)]);
  expect(pipe.written).toEqual([EVIL, SHOWN]);
});

it('knows the width of a terminal, also of one that says it has none', () => {
  expect(widthOf({ isTTY: true, columns: 100 })).toBe(100);
  expect(widthOf({ isTTY: true, columns: 0 })).toBe(80);
  expect(widthOf({ isTTY: false, columns: 100 })).toBeUndefined();
});
