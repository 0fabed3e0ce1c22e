export { connectStore } from './connect-store.ts';
export type { ConnectOptions } from './connect-store.ts';
export { isOutcomeUnknown } from './client/transport.ts';
export { QuipuError, isQuipuError } from './base/errors.ts';
export type { ErrorCode, ErrorData } from './base/errors.ts';
export { toContextId, toHash, toTurnId } from './base/brand.ts';
export type { ContextId, ContextIdLike, Hash, TurnId, TurnIdLike } from './base/brand.ts';
export type { Store } from './store/store.ts';
