import {
  type CollectedMap,
  decodeCollectedMap,
  NOTHING_COLLECTED,
} from '../../../format/collected-map.ts';
import { corrupt } from '../disk/io-error.ts';
import { COLLECTED_FILE } from '../names.ts';
import type { StoreFiles } from '../disk/store-files.ts';

export async function readCollected(files: StoreFiles): Promise<CollectedMap> {
  const length = await files.size(COLLECTED_FILE);
  if (length === 0) return NOTHING_COLLECTED;
  const map = decodeCollectedMap(await files.read(COLLECTED_FILE, 0, length));
  if (map === undefined) throw corrupt(COLLECTED_FILE, 0, 'the map of collected turns is damaged');
  return map;
}
