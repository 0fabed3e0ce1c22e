export interface Block {
  /** What stands after the opening fence: `sh`, `ts`, `text`, … */
  readonly info: string;
  readonly code: string;
  /** Of the opening fence, from 1. */
  readonly line: number;
  /** The `text` block that follows with only blank lines between: what running it prints. */
  readonly output?: string;
}

/** The languages whose blocks are run. */
const RUN = new Set(['sh', 'ts', 'js', 'python']);

/** The fenced blocks of a document; a `text` block right after an example belongs to that one. */
export function parseBlocks(markdown: string): Block[] {
  const blocks: Block[] = [];
  const lines = markdown.split('\n');
  let open: { info: string; line: number; code: string[] } | undefined;
  let adjacent = false;
  for (const [index, line] of lines.entries()) {
    const fence = /^```(.*)$/.exec(line);
    if (open !== undefined && fence === null) open.code.push(`${line}\n`);
    if (open !== undefined && fence !== null) {
      const block = { info: open.info, code: open.code.join(''), line: open.line };
      const example = blocks.at(-1);
      const answers = adjacent && block.info === 'text' && example?.output === undefined;
      if (answers && example !== undefined && RUN.has(example.info)) {
        blocks[blocks.length - 1] = { ...example, output: block.code };
      } else {
        blocks.push(block);
      }
      open = undefined;
      adjacent = true;
      continue;
    }
    if (open === undefined && fence !== null) {
      open = { info: fence[1]!.trim(), line: index + 1, code: [] };
    } else if (open === undefined && line.trim() !== '') {
      adjacent = false;
    }
  }
  if (open !== undefined) throw new Error(`the block at line ${open.line} is never closed`);
  return blocks;
}
