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
