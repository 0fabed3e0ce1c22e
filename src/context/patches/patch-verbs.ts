import { toHash, toTurnId, type TurnId } from '../../base/brand.ts';
import { only } from '../../base/check-value.ts';
import { jsonable } from '../../base/jsonable.ts';
import { checkBounded } from '../../base/text.ts';
import { checkExpectedSeq } from '../check-input.ts';
import type { ContextsParts } from '../turns/loaded-page.ts';
import type { Contexts, Patch } from '../contexts.ts';
import { REASON_BYTES_MAX } from '../limits.ts';
import { type EncodedPayload, encodePayload, encodingOf } from '../payloads/codecs.ts';
import { mustGetTurn } from '../turns/read-turns.ts';
import type { Batch } from '../../engine/batch.ts';
import type { PatchRow } from '../../engine/rows.ts';

type PatchVerbs = Pick<Contexts, 'patch' | 'tombstone' | 'patches'>;

export function patchVerbs({ engine, rules }: ContextsParts): PatchVerbs {
  async function commitPatch(turn: TurnId, plan: PatchPlan): Promise<Patch> {
    return toPatch(only((await engine.commit(planPatch(turn, plan))).patches));
  }

  return {
    async patch(turn, payload, options = {}) {
      return commitPatch(toTurnId(turn), {
        tombstone: false,
        payload: encodePayload(payload, options.encoding, rules),
        ...checkExpectedSeq(options),
      });
    },

    async tombstone(turn, reason, options = {}) {
      const text = checkBounded(reason, 'reason', REASON_BYTES_MAX);
      return commitPatch(toTurnId(turn), {
        tombstone: true,
        payload: encodePayload(text, 'text', rules),
        ...checkExpectedSeq(options),
      });
    },

    async patches(turn) {
      const { id } = await mustGetTurn(engine, toTurnId(turn));
      return (await engine.getPatches([id])).map(toPatch);
    },
  };
}

interface PatchPlan {
  readonly tombstone: boolean;
  /** The new payload; for a tombstone the reason as text. */
  readonly payload: EncodedPayload;
  readonly expectedSeq?: number;
}

/** Trusts its input. The payload and the overlay that names it become true together. */
function planPatch(turn: TurnId, plan: PatchPlan): Batch {
  const { payload, tombstone, expectedSeq } = plan;
  return {
    blobs: [{ hash: payload.hash, bytes: payload.bytes }],
    patches: [
      {
        turn,
        tombstone,
        encoding: payload.encoding,
        payload: payload.hash,
        size: payload.bytes.length,
        ...(expectedSeq !== undefined && { expectedSeq }),
      },
    ],
  };
}

export function toPatch(row: PatchRow): Patch {
  const { seq, turn, tombstone, payload: payloadHash, size, createdAt } = row;
  const encoding = encodingOf(row.encoding);
  return jsonable({ seq, turn, tombstone, encoding, payloadHash, size, createdAt });
}

type FsRootVerbs = Pick<Contexts, 'attach' | 'fsRoot'>;

export function fsRootVerbs({ engine }: ContextsParts): FsRootVerbs {
  return {
    async attach(turn, root) {
      const attach = { turn: toTurnId(turn), root: toHash(root, 'root') };
      await engine.commit({ fsRoots: [attach] });
    },

    async fsRoot(turn) {
      const { id } = await mustGetTurn(engine, toTurnId(turn));
      return (await engine.getFsRoots([id])).at(-1)?.root;
    },
  };
}
