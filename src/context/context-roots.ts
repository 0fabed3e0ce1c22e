import { NO_TURN } from '../base/brand.ts';
import { QuipuError, isQuipuError } from '../base/errors.ts';
import { eachDoc } from '../engine/names.ts';
import type { Engine } from '../engine/engine.ts';
import type { Root, RootSource } from '../engine/roots.ts';
import type { ContextRow } from '../engine/rows.ts';
import { HEAD_MOVES_PREFIX, decodeHeadMoves } from '../format/head-moves.ts';
import { eachPage } from '../base/pages.ts';

const PAGE_CONTEXTS = 1000;

/** A head that a context has left can be moved to again for this long. */
const LEFT_HEADS_MS = 30 * 86_400_000;

/** Yields every head, every turn being streamed with the turn it goes on from, and heads that were left not long ago. */
export function contextRoots(engine: Engine, clock: () => number = Date.now): RootSource {
  return {
    kind: 'contexts',
    async *roots() {
      const limit = PAGE_CONTEXTS;
      for await (const { rows } of eachPage((after) => engine.listContexts({ limit, ...after }))) {
        for (const row of rows) yield* rootsOf(engine, row);
      }
      // After the contexts: a head that is moved meanwhile was listed there, or is among those that were left.
      yield* leftHeads(engine, clock() - LEFT_HEADS_MS);
    },
    // For the other commits that move heads, the engine reports the blobs and turns they rely on. A turn that was open
    // when the collection began is not among the turns it shows, and its parent must stay when it is sealed. For a
    // file-system root the engine reports that the tree must stay, and knows nothing of the blobs that the tree names.
    rootsIn: ({ sealed, fsRoots }) => [
      ...sealed
        .flatMap(({ id, parent }) => (parent === NO_TURN ? [id] : [id, parent]))
        .map((turn) => ({ turn })),
      ...fsRoots.map(({ root }) => ({ tree: root })),
    ],
  };
}

async function* rootsOf(engine: Engine, row: ContextRow): AsyncGenerator<Root> {
  if (row.head !== NO_TURN) yield { turn: row.head };
  if (row.openTurn === NO_TURN) return;
  // The turn may have been sealed since the listing: then it is the head.
  yield { turn: row.openTurn };
  const parent = await readParent(engine, row);
  if (parent !== undefined && parent !== NO_TURN) yield { turn: parent };
}

async function* leftHeads(engine: Engine, sinceMs: number): AsyncGenerator<Root> {
  for await (const { content } of eachDoc(engine, HEAD_MOVES_PREFIX)) {
    const left = decodeHeadMoves(content)?.left ?? [];
    for (const { turn, leftAt } of left) if (leftAt >= sinceMs) yield { turn };
  }
}

async function readParent(
  engine: Engine,
  { id, openTurn }: ContextRow,
): Promise<ContextRow['head'] | undefined> {
  try {
    return (await engine.getTurn(openTurn))?.parent;
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    const message = `the open turn of context ${id}: ${error.message}`;
    throw new QuipuError('CORRUPT', message, error.data, { cause: error });
  }
}
