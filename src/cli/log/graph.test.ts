import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toTurnId } from '../../base/brand.ts';
import {
  ASCII_STROKES,
  UTF8_STROKES,
  cutCells,
  drawJoins,
  drawLanes,
  drawTurn,
  placeTurn,
} from './graph.ts';
import type { Cell, Lanes, Placed, Strokes } from './graph.ts';

/** Parents by turn, such as `{ 2: 1 }`. */
type Tree = Readonly<Record<number, number>>;

function placeAll(tree: Tree): Placed[] {
  const placed: Placed[] = [];
  let lanes: Lanes = [];
  const ids = Object.keys(tree).map(Number);
  for (const id of ids.sort((a, b) => b - a)) {
    const next = placeTurn(lanes, { id: toTurnId(id), parent: toTurnId(tree[id] ?? 0, true) });
    placed.push(next);
    lanes = next.below;
  }
  return placed;
}

const toText = (cells: readonly Cell[]): string =>
  cells
    .map(({ char }) => char)
    .join('')
    .trimEnd();

function draw(tree: Tree, strokes: Strokes = ASCII_STROKES): string[] {
  const ids = Object.keys(tree)
    .map(Number)
    .sort((a, b) => b - a);
  return placeAll(tree).flatMap((placed, row) => {
    const joins = drawJoins(placed, strokes);
    return [
      ...(joins === undefined ? [] : [toText(joins)]),
      `${toText(drawTurn(placed, strokes))} ${ids[row]}`,
    ];
  });
}

describe('the graph of a log', () => {
  it('is one lane for one branch', () => {
    expect(draw({ 1: 0, 2: 1, 3: 2 })).toEqual(['* 3', '* 2', '* 1']);
  });

  it('draws a fork as git does', () => {
    expect(draw({ 1: 0, 2: 1, 3: 2, 4: 2, 5: 3 })).toEqual([
      '* 5',
      '| * 4',
      '* | 3',
      '|/',
      '* 2',
      '* 1',
    ]);
  });

  it('draws many forks of one turn in one row, over lanes that go on', () => {
    const tree = { 1: 0, 2: 1, 3: 1, 4: 2, 5: 3, 6: 1, 7: 1 };
    expect(draw(tree)).toEqual([
      '* 7',
      '| * 6',
      '| | * 5',
      '| | | * 4',
      '| | * | 3',
      '| | | * 2',
      '|/_/_/',
      '* 1',
    ]);
    expect(draw({ 1: 0, 2: 0, 3: 1, 4: 2, 5: 1 }, UTF8_STROKES)).toEqual([
      '● 5',
      '│ ● 4',
      '│ │ ● 3',
      '│ ● │ 2',
      '├───╯',
      '● 1',
    ]);
    expect(draw({ 1: 0, 2: 1, 3: 2, 4: 1, 5: 2 }, UTF8_STROKES)).toEqual([
      '● 5',
      '│ ● 4',
      '│ │ ● 3',
      '├─┼─╯',
      '● │ 2',
      '├─╯',
      '● 1',
    ]);
    expect(draw({ 1: 0, 2: 1, 3: 2, 4: 1, 5: 2 })).toContain('|_|/');
  });

  it('lets a new branch take the lane of one that ended', () => {
    expect(draw({ 1: 0, 2: 0, 3: 2, 4: 3, 5: 3 })).toEqual([
      '* 5',
      '| * 4',
      '|/',
      '* 3',
      '* 2',
      '* 1',
    ]);
    expect(placeAll({ 1: 0, 2: 0 }).map(({ lane }) => lane)).toEqual([0, 0]);
  });

  it('has every turn below all turns that name it, in a lane that leads to it', () => {
    const trees = fc
      .array(fc.nat(), { minLength: 1, maxLength: 60 })
      .map((parents) =>
        Object.fromEntries(parents.map((any, index) => [index + 1, any % (index + 1)])),
      );
    fc.assert(
      fc.property(trees, (tree) => {
        let before: Lanes = [];
        for (const placed of placeAll(tree)) {
          const { lane, joins, beside, above, below } = placed;
          const id = above[lane];
          // All that waited for the turn meet in it, and nobody else moves.
          expect(before.filter((turn) => turn === id)).toHaveLength(
            before.includes(id) ? joins.length + 1 : 0,
          );
          expect(beside.filter((turn) => turn === id)).toEqual([id]);
          const others = [...before.entries()].filter(
            ([, turn]) => turn !== id && turn !== undefined,
          );
          for (const [at, turn] of others) expect(below[at]).toBe(turn);
          before = below;
        }
        expect(before).toEqual([]);
      }),
    );
  });

  it('is cut where it gets too wide, and shows the turn', () => {
    const tree = { 1: 0, 2: 1, 3: 1, 4: 1, 5: 1 };
    const cut = { maxLanes: 2, strokes: ASCII_STROKES };
    const rows = placeAll(tree).map((placed) =>
      toText(cutCells(drawTurn(placed, ASCII_STROKES), cut)),
    );
    expect(rows).toEqual(['*', '| *', '| |>*', '| |>*', '*']);
    expect(toText(cutCells(drawLanes([], ASCII_STROKES), cut))).toBe('');
  });
});
