import type { Build } from '../build.ts';
import { blobErase } from '../commands/blob-erase.ts';
import { blobGet } from '../commands/blob-get.ts';
import { blobPut } from '../commands/blob-put.ts';
import { blobStat } from '../commands/blob-stat.ts';

export const blobCommands: readonly Build[] = [blobPut, blobGet, blobStat, blobErase];
