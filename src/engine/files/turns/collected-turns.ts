import type { Check } from '../truth/check.ts';
import {
  type CollectedMap,
  decodeCollectedMap,
  NOTHING_COLLECTED,
} from '../../../format/collected-map.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';

export const COLLECTED_FILE = 'turns/collected.map';

export async function readCollected(files: StoreFiles): Promise<CollectedMap> {
  const length = await files.size(COLLECTED_FILE);
  if (length === 0) return NOTHING_COLLECTED;
  const map = decodeCollectedMap(await files.read(COLLECTED_FILE, 0, length));
  if (map === undefined) throw corrupt(COLLECTED_FILE, 0, 'the map of collected turns is damaged');
  return map;
}

/** Checks the map of collected turns. The file exists once something was collected. */
export async function checkCollected({ core, files, findings }: Check): Promise<void> {
  const length = await files.size(COLLECTED_FILE);
  const map = decodeCollectedMap(await files.read(COLLECTED_FILE, 0, length));
  if (
    map === undefined ? core.collected.next > 0 || length > 0 : map.next !== core.collected.next
  ) {
    const what = 'the list of collected turns is damaged; the next collection makes it again';
    findings.add({ what, file: COLLECTED_FILE, offset: 0, severity: 'lost', length });
  }
}
