import type { CheckedRead } from '../../context/check-input.ts';
import type { TurnView } from '../../context/turns/turn.ts';
import type { LoadedPage, LoadedTurn, PageRequest } from '../../context/turns/loaded-page.ts';
import { readPage } from '../../context/turns/read-pages.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ByteParts } from '../../wire/byte-parts.ts';
import { TurnPacker } from '../../wire/packed-turns.ts';
import type { PackedOverlay, PackedPage } from '../../wire/packed-turns.ts';

/** Payload bytes of one page, so that the page with its records fits a frame. The cursor continues from there. */
const PAGE_BYTES_MAX = 33_554_432;

/** The head, records, patches and payloads of a page at once. */
export async function packedPage(
  engine: Engine,
  request: PageRequest,
  { payload, as, ...read }: CheckedRead,
): Promise<PackedPage<ByteParts>> {
  const maxBytes = Math.min(read.maxBytes, PAGE_BYTES_MAX);
  return packPage(await readPage(engine, request, { payload, as, maxBytes }));
}

function packPage({ turns, headDepth, cursor, nextDepth }: LoadedPage): PackedPage<ByteParts> {
  const packer = new TurnPacker(turns.length);
  const overlays: PackedOverlay[] = [];
  const reasons: [number, string][] = [];
  for (let index = 0; index < turns.length; index += 1) {
    const { view, bytes, reason } = turns[index] as LoadedTurn;
    packer.add(view.row, bytes !== undefined && bytes.length > PAGE_BYTES_MAX ? null : bytes);
    if (view.patch !== undefined) overlays.push(packOverlay(view, index));
    if (reason !== undefined) reasons.push([index, reason]);
  }
  return {
    turns: packer.done(),
    overlays,
    reasons,
    headDepth,
    cursor,
    nextDepth,
  };
}

function packOverlay({ patch, encoding, payload, size }: TurnView, index: number): PackedOverlay {
  return { index, patch, encoding, payload, size };
}
