import { encodeUtf8 } from '../../../base/text.ts';
import { jsonReply } from './route.ts';
import type { HttpRequest, Reply } from './route.ts';
import { begun } from './turn-answer.ts';

/** An item of a page that is read when there is room for it. */
export class Later {
  readonly size: number;
  readonly read: () => Promise<unknown>;

  constructor(size: number, read: () => Promise<unknown>) {
    this.size = size;
    this.read = read;
  }
}

/** A page as JSON: the items under their name, then the rest of its fields. */
export interface ListPage {
  readonly name: string;
  readonly items: readonly unknown[];
  readonly rest: object;
}

/** Answers with a page. Its large items are read one by one, as the client takes them. */
export async function listReply(
  { name, items, rest }: ListPage,
  request: HttpRequest,
): Promise<Reply> {
  if (!items.some((item) => item instanceof Later)) return jsonReply({ [name]: items, ...rest });
  const pieces: (Uint8Array | Later)[] = [];
  let text = `{${JSON.stringify(name)}:[`;
  for (const [at, item] of items.entries()) {
    if (at > 0) text += ',';
    if (item instanceof Later) {
      pieces.push(encodeUtf8(text), item);
      text = '';
    } else text += JSON.stringify(item);
  }
  const end = JSON.stringify(rest).slice(1);
  pieces.push(encodeUtf8(`${text}]${end === '}' ? '' : ','}${end}`));
  return { body: await begun(listPieces(pieces, request)) };
}

/** Only the bytes of small items are kept, because they wait for the client. */
async function* listPieces(
  pieces: readonly (Uint8Array | Later)[],
  { room }: HttpRequest,
): AsyncGenerator<Uint8Array, void, undefined> {
  const small = pieces.reduce((sum, piece) => sum + ('length' in piece ? piece.length : 0), 0);
  const left = room.keep(small);
  try {
    for (const piece of pieces) {
      if (piece instanceof Later) {
        yield* room.parts(piece.size, async () => encodeUtf8(JSON.stringify(await piece.read())));
      } else yield piece;
    }
  } finally {
    left();
  }
}
