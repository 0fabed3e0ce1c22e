import type { TurnId } from '../../base/brand.ts';
import type { ReadOptions } from '../../context/contexts.ts';
import { PAYLOAD_BYTES_MAX } from '../../context/limits.ts';
import { encodePayload } from '../../context/payloads/codecs.ts';
import type { Turn } from '../../context/turn.ts';
import type { Store } from '../../store/store.ts';
import { startProgress, type QuipuShell } from '../kit/command.ts';
import { openOutput, type OutGiven } from '../kit/output.ts';
import { toReadOptions } from './turn-options.ts';

export interface ExportOptions extends ReadOptions, OutGiven {}

/** Writes the turns from the root to `tip`, one JSON object a line, to standard output or a file. */
export async function exportChain(
  shell: QuipuShell,
  store: Store,
  tip: { readonly id: TurnId; readonly depth: number } | undefined,
  options: ExportOptions,
): Promise<void> {
  await using output = await openOutput(shell, options);
  const progress = startProgress(shell);
  try {
    const turns = tip === undefined ? [] : store.contexts.chain(tip.id, toReadOptions(options));
    for await (const turn of turns) {
      await output.write(`${JSON.stringify(toLine(turn))}\n`);
      // A bar in the middle of the printed output would only disturb.
      if (options.out !== undefined)
        progress.report(turn.depth + 1, (tip?.depth ?? 0) + 1, 'turns');
    }
  } finally {
    progress.end();
  }
  await output.complete();
}

/** The turn, and its exact bytes where its value would be encoded as others: keys in another order, spaces. */
function toLine(turn: Turn): object {
  const line = turn.toJSON();
  const { bytes } = turn;
  if (bytes === undefined || line.undecodable === true || isEncodedAs(turn, bytes)) return line;
  return { ...line, bytes: { base64: Buffer.from(bytes).toString('base64') } };
}

function isEncodedAs({ payload, encoding }: Turn, bytes: Uint8Array): boolean {
  try {
    const again = encodePayload(payload, encoding, { maxPayloadBytes: PAYLOAD_BYTES_MAX });
    return Buffer.compare(again.bytes, bytes) === 0;
  } catch {
    // Such as a number that the encoding does not write.
    return false;
  }
}
