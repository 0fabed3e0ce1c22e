import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';

// A program: import-home <folder> <bytes> <files>. It writes sessions as Claude Code does: prompts, answers with tool
// calls, results. Every second session begins as a copy of the one before it, and long results come again. It prints the
// number of bytes. It is a process of its own, so that its memory does not count as that of an import.

const WORDS =
  'the file parser store turn context error test build function return value reads writes lines bytes queue commit'.split(
    ' ',
  );
const OUTPUTS = 40;

async function writeHome(home: string, size: number, files: number): Promise<number> {
  const random = new SeededRandom(3);
  const prose = (chars: number): string => {
    let text = '';
    while (text.length < chars) text += `${WORDS[random.below(WORDS.length)] ?? ''} `;
    return text.slice(0, chars);
  };
  const outputs = Array.from({ length: OUTPUTS }, () => prose(8000 + random.below(80_000)));
  let written = 0;
  let before: readonly Line[] = [];
  for (let file = 0; file < files; file += 1) {
    const session = `session-${file}`;
    const copied = file % 2 === 1 ? before.slice(0, Math.floor(before.length * 0.8)) : [];
    const writer = new SessionLines(session, copied, size / files);
    while (!writer.isFull) writer.addRound(prose, outputs[random.below(OUTPUTS)] ?? '', random);
    const folder = join(home, `projects/-work-p${file % 20}`);
    await mkdir(folder, { recursive: true });
    const text = writer.lines
      .map((line) => `${JSON.stringify({ ...line, sessionId: session })}\n`)
      .join('');
    await writeFile(join(folder, `${session}.jsonl`), text);
    written += Buffer.byteLength(text);
    before = writer.lines;
  }
  return written;
}

type Line = Readonly<Record<string, unknown>>;

class SessionLines {
  readonly lines: Line[];
  readonly #session: string;
  readonly #size: number;
  #bytes: number;

  constructor(session: string, copied: readonly Line[], size: number) {
    this.#session = session;
    this.lines = [...copied];
    this.#size = size;
    this.#bytes = copied.reduce((sum, line) => sum + JSON.stringify(line).length, 0);
  }

  get isFull(): boolean {
    return this.#bytes >= this.#size;
  }

  addRound(prose: (chars: number) => string, output: string, random: SeededRandom): void {
    this.#add({ type: 'user', message: { role: 'user', content: prose(300) } });
    for (let step = 0; step < 4; step += 1) {
      const call = `toolu_${this.#session}_${this.lines.length}`;
      const message = { id: `msg_${call}`, role: 'assistant', model: 'model-x' };
      const usage = { input_tokens: 10, output_tokens: 200, cache_read_input_tokens: 1000 };
      const text = [{ type: 'text', text: prose(400) }];
      const use = [{ type: 'tool_use', id: call, name: 'Read', input: { path: 'src/file.ts' } }];
      this.#add({ type: 'assistant', message: { ...message, content: text, usage } });
      this.#add({ type: 'assistant', message: { ...message, content: use, usage } });
      this.#add({ type: 'progress', data: { hook: step } });
      const content = random.chance(0.15) ? output : prose(1500);
      const result = [{ type: 'tool_result', tool_use_id: call, content }];
      this.#add({ type: 'user', message: { role: 'user', content: result } });
    }
  }

  #add(fields: Line): void {
    const n = this.lines.length;
    const line = {
      parentUuid: this.lines.at(-1)?.['uuid'] ?? null,
      isSidechain: false,
      cwd: '/work',
      version: '2.1.100',
      gitBranch: 'main',
      ...fields,
      uuid: `${this.#session}-${String(n).padStart(8, '0')}-4000-8000-000000000000`,
      timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString(),
    };
    this.lines.push(line);
    this.#bytes += JSON.stringify(line).length + 30;
  }
}

const [folder = '', bytes = '0', files = '1'] = process.argv.slice(2);
console.log(await writeHome(folder, Number(bytes), Number(files)));
