import { exportHistory, type ExportFormat } from '../../import/out/export-history.ts';
import { SOURCES } from '../../import/sources/all-sources.ts';
import type { CommandIo } from '../kit/command.ts';
import { findContextId } from './turn-output.ts';
import { openOutput, type OutGiven } from '../kit/output.ts';
import type { GivenContext } from '../kit/parse.ts';

export interface ExportGiven extends OutGiven {
  readonly as?: ExportFormat;
}

export async function runExport(
  io: CommandIo,
  context: GivenContext,
  { as = io.json ? 'jsonl' : 'markdown', ...out }: ExportGiven,
): Promise<void> {
  const store = await io.openStore();
  const id = await findContextId(store, context);
  await using output = await openOutput(io.shell, out);
  for await (const piece of exportHistory(store, id, as, SOURCES)) await output.write(piece);
  await output.complete();
}
