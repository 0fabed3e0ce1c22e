import { isQuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { LogDamage, SalvagedLog } from '../../engine/rows.ts';

/**
 * `salvageLog` for an engine that always knows the length of a log: reads in halves until only the damaged lines are
 * left out.
 */
export async function salvageByHalves(
  engine: Pick<Engine, 'getLog' | 'readLog'>,
  name: string,
  from: number,
  limit: number,
): Promise<SalvagedLog | undefined> {
  const row = await engine.getLog(name);
  if (row === undefined) return undefined;
  const { lines, bytes } = row;
  const count = Math.max(0, Math.min(limit, lines - from));
  return { lines, bytes, page: await readHalves(from, count), damage: [] };

  async function readHalves(first: number, most: number): Promise<readonly (string | LogDamage)[]> {
    if (most === 0) return [];
    try {
      return await engine.readLog(name, first, most);
    } catch (error) {
      if (!isQuipuError(error, 'CORRUPT')) throw error;
      if (most === 1) return [{ ...error.data, bytes: 0, what: error.message }];
      const half = Math.ceil(most / 2);
      return [...(await readHalves(first, half)), ...(await readHalves(first + half, most - half))];
    }
  }
}
