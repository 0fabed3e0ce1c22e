export { QuipuError, isQuipuError } from './base/errors.ts';
export type { ErrorCode, ErrorData } from './base/errors.ts';
export type { HttpClientOptions } from './client/http/http-asker.ts';
export { HttpTransport } from './client/http/http-transport.ts';
export type { HttpTransportOptions } from './client/http/http-transport.ts';
export { readEvents } from './client/http/http-asker.ts';
export type { ServerEvent } from './client/http/http-asker.ts';
export { WebClient } from './client/http/web-client.ts';
export type {
  IdLike,
  WebAppendOptions,
  WebBatchTurn,
  WebFollowOptions,
  WebPage,
  WebSearchOptions,
  WebTurn,
  WebTurnsOptions,
  WebWatchOptions,
} from './client/http/web-client.ts';
export type { Transport } from './client/transport.ts';
export type { ContextJson } from './context/context.ts';
export type { TurnJson } from './context/turn.ts';
export { showImported } from './import/show/imported-turn.ts';
export type { ShownImport } from './import/show/imported-turn.ts';
export { wordFinder } from './search/answer/snippet.ts';
export type { WordFinder } from './search/answer/snippet.ts';
export type { SearchAnswer, SearchHit, SearchOptions } from './search/contract/search.ts';
