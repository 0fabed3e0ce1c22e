import type { TurnId } from '../../base/brand.ts';
import type { Tips } from '../../engine/engine.ts';
import type { TextChange, TextPage } from '../../engine/texts.ts';

/** The position up to which turns, patches and contexts were read: `<turn>.<patch>.<context>.<open turns>`. */
export class TurnMark {
  turn: bigint;
  patch: number;
  context: bigint;
  readonly open: Set<TurnId>;

  private constructor(turn: bigint, patch: number, context: bigint, open: readonly TurnId[]) {
    this.turn = turn;
    this.patch = patch;
    this.context = context;
    this.open = new Set(open);
  }

  /** A mark that is none begins at the beginning. */
  static parse(text: string | undefined): TurnMark {
    const [, turn = '0', patch = '0', context = '0', open = ''] =
      /^(\d{1,16})\.(\d{1,16})\.(\d{1,16})\.([\d,]*)$/.exec(text ?? '') ?? [];
    const ids = open === '' ? [] : open.split(',').map((id) => BigInt(id) as TurnId);
    return new TurnMark(BigInt(turn), Number(patch), BigInt(context), ids);
  }

  page(changes: readonly TextChange[], tips: Tips): TextPage {
    const left =
      Number(tips.turn - this.turn + (tips.context - this.context)) + (tips.patch - this.patch);
    const total = Number(tips.turn + tips.context) + tips.patch;
    return { changes, marks: [['', this.toString()]], done: total - left, total };
  }

  toString(): string {
    return `${this.turn}.${this.patch}.${this.context}.${[...this.open].join(',')}`;
  }
}
