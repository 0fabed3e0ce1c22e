/** A piece of a message, the same for all sources. */
export type Block =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'thinking'; readonly text: string }
  | { readonly is: 'call'; readonly id: string; readonly name: string; readonly input: unknown }
  | {
      readonly is: 'result';
      readonly id: string;
      readonly text: string;
      readonly failed: boolean;
      readonly images: readonly ImageBlock[];
    }
  | ImageBlock;

export interface ImageBlock {
  readonly is: 'image';
  readonly mime: string;
  /** Base64. */
  readonly data: string;
}

/** No block for no text. */
export function toText(text: string | undefined): readonly Block[] {
  return text === undefined || text === '' ? [] : [{ is: 'text', text }];
}

export function toCall(id: string | undefined, name: string | undefined, input: unknown): Block {
  return { is: 'call', id: id ?? '', name: name ?? '', input };
}

export function toResult(
  id: string | undefined,
  text: string | undefined,
  { failed = false, images = [] }: { failed?: boolean; images?: readonly ImageBlock[] } = {},
): Block {
  return { is: 'result', id: id ?? '', text: text ?? '', failed, images };
}

/** No block for no data. */
export function toImage(data: string | undefined, mime: string | undefined): ImageBlock[] {
  return data === undefined ? [] : [{ is: 'image', mime: mime ?? 'image/png', data }];
}

/** The picture of a `data:` URL. */
export function toImageOfUrl(url: string | undefined): ImageBlock[] {
  const [, mime, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url ?? '') ?? [];
  return toImage(data, mime);
}
