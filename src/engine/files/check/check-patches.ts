import { isCollected } from '../../../format/collected-map.ts';
import { decodePatchRecord, PATCH_RECORD_BYTES } from '../../../format/patch-record.ts';
import { PATCHES_FILE } from '../names.ts';
import type { Check } from './check.ts';
import { type Found, staleIndex } from './findings.ts';
import { eachRecord } from './fixed-records.ts';

export async function checkPatches(check: Check): Promise<void> {
  const { core, findings, snapshot, blobs } = check;
  const { nextPatch, nextTurn } = snapshot.tails;
  const file = {
    file: PATCHES_FILE,
    recordBytes: PATCH_RECORD_BYTES,
    next: nextPatch,
    what: 'patches',
  };
  await eachRecord(check, file, (bytes, seq) => {
    const patch = decodePatchRecord(bytes);
    if (patch === undefined || patch.seq !== seq) {
      findings.add(problemOfPatch(seq, `the record of patch ${seq} is damaged`, true));
      return;
    }
    findings.counts.patches += 1;
    const turn = Number(patch.turn);
    if (turn < 1 || turn >= nextTurn || snapshot.openTurns.has(turn)) {
      findings.add(problemOfPatch(seq, `patch ${seq} is on a turn that is not there`, true));
    }
    const gone = isCollected(core.collected, turn);
    if (!gone && !blobs.isThere(core, patch.payload)) {
      findings.add(problemOfPatch(seq, `the payload of patch ${seq} cannot be read`, false));
    }
    if (!core.index.patchesOf([turn]).includes(seq)) {
      findings.add(staleIndex(`the index does not know patch ${seq}`, String(seq)));
    }
  });
}

function problemOfPatch(seq: number, what: string, inRecord: boolean): Found {
  return {
    what,
    file: PATCHES_FILE,
    offset: seq * PATCH_RECORD_BYTES,
    id: String(seq),
    severity: 'lost',
    length: inRecord ? PATCH_RECORD_BYTES : 0,
  };
}
