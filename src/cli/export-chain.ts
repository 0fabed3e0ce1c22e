import type { TurnId } from '../base/brand.ts';
import type { ReadOptions } from '../context/contexts.ts';
import type { Store } from '../store/store.ts';
import { openOutput } from './output.ts';
import { startProgress } from './progress-line.ts';
import { toReadOptions } from './read-options.ts';
import type { QuipuShell } from './shell.ts';

export interface ExportOptions extends ReadOptions {
  readonly out?: string;
}

/** Writes the turns from the root to `tip`, one JSON object a line, to standard output or a file. */
export async function exportChain(
  shell: QuipuShell,
  store: Store,
  tip: { readonly id: TurnId; readonly depth: number } | undefined,
  options: ExportOptions,
): Promise<void> {
  await using output = await openOutput(shell, options.out);
  const progress = startProgress(shell);
  try {
    const turns = tip === undefined ? [] : store.contexts.chain(tip.id, toReadOptions(options));
    for await (const turn of turns) {
      await output.write(`${JSON.stringify(turn)}\n`);
      // A bar in the middle of the printed output would only disturb.
      if (options.out !== undefined)
        progress.report(turn.depth + 1, (tip?.depth ?? 0) + 1, 'turns');
    }
  } finally {
    progress.end();
  }
  await output.complete();
}
