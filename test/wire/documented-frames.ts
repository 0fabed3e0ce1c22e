import { readProject } from '../support/project.ts';

/** The frames of docs/reference/wire-examples.md, by name. */
export function documentedFrames(): Map<string, Buffer> {
  const [, block = ''] =
    /^```\n(.*?)^```$/ms.exec(readProject('docs/reference/wire-examples.md')) ?? [];
  const frames = block.split(/^# /m).slice(1);
  return new Map(
    frames.map((text) => {
      const end = text.indexOf('\n');
      const hex = text.slice(end).replaceAll(/\s/g, '');
      if (!/^(?:[0-9a-f]{2})+$/.test(hex)) throw new Error(`not hexadecimal: ${text}`);
      return [text.slice(0, end), Buffer.from(hex, 'hex')];
    }),
  );
}
