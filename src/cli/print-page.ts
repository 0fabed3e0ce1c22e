import type { TurnPage } from '../context/contexts.ts';
import type { CommandIo } from './command.ts';
import { printTurns } from './show-turn.ts';

/** Prints the turns of a page, and tells people how to see the page before: `back` and the cursor. */
export async function printPage(io: CommandIo, page: TurnPage, back: string): Promise<void> {
  await printTurns(io, page.turns);
  if (page.cursor === undefined) return;
  const note = io.json
    ? JSON.stringify({ cursor: String(page.cursor) })
    : `older: ${back} ${page.cursor}`;
  io.shell.err(`${note}\n`);
}
