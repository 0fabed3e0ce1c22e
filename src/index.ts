export { openStore } from './open-store.ts';
export type { OpenOptions } from './open-store.ts';
export { isOutcomeUnknown } from './client/transport.ts';
export { restoreStore } from './restore-store.ts';
export { copyStore } from './copy-store.ts';
export { followHistory } from './import/import-history.ts';
export type { FollowHistoryOptions } from './import/import-history.ts';
export { exportHistory } from './import/out/export-history.ts';
export type { ExportFormat } from './import/out/export-history.ts';
export { importHistory } from './import/import-history.ts';
export type { ImportOptions } from './import/import-history.ts';
export type { ImportReport } from './import/keep/import-report.ts';
export { SOURCES as importSources } from './import/sources/all-sources.ts';
export type { Source as ImportSource } from './import/source/source.ts';
export type { CopyOptions, CopyReport, LeftOut } from './copy-store.ts';
export { QuipuError, isQuipuError } from './base/errors.ts';
export type { ErrorCode, ErrorData } from './base/errors.ts';
export { toContextId, toHash, toTurnId } from './base/brand.ts';
export type { ContextId, ContextIdLike, Hash, TurnId, TurnIdLike } from './base/brand.ts';
export type { Json, Jsonable } from './base/jsonable.ts';
export type { Store, TypedStore } from './store/store.ts';
export type {
  BlobDetails,
  BlobEraseOptions,
  BlobInfo,
  BlobListOptions,
  BlobPage,
  Blobs,
  ByteRange,
} from './store/blobs.ts';
export type { Maintain, Stats } from './store/maintain.ts';
export type {
  ContextEvent,
  ContextRemoved,
  PatchEvent,
  StoreEvent,
  StoreEventKind,
  TurnEvent,
  UnreadableEvent,
  WatchBegan,
  WatchBehind,
  WatchFilter,
  WatchOptions,
} from './store/watch-event.ts';
export type { EngineStats, Progress } from './engine/engine.ts';
export type { BackupReport, BlobNeed, CheckCounts, EraseReport, Problem } from './engine/upkeep.ts';
export type { GcOptions, GcReport } from './maintain/collect-garbage.ts';
export type { RemovedContext, RetainReport, RetentionPolicy } from './maintain/retain-contexts.ts';
export type { VerifyOptions, VerifyReport } from './maintain/verify-store.ts';
export type { Context, ContextJson } from './context/context.ts';
export type { MetaCondition, MetaConditions } from './context/meta-condition.ts';
export type {
  AppendOptions,
  ContextDefaults,
  ContextDetails,
  ContextPage,
  Contexts,
  ContextUpdate,
  EraseOptions,
  FollowOptions,
  GivenRange,
  ListOptions,
  MovedHead,
  MoveOptions,
  NewContext,
  BatchTurn,
  NewTurn,
  NewTurnHeader,
  OpenTurnOptions,
  Page,
  PatchOptions,
  ReadOptions,
  TombstoneOptions,
  TurnDiff,
  TurnEraseReport,
  TurnPage,
  OpenTurn,
  Patch,
  PatchJson,
  Pin,
  PinOptions,
} from './context/contexts.ts';
export type {
  OtherType,
  Schemas,
  StandardSchema,
  TypedContexts,
  TypedNewTurn,
  TypedOptions,
  TypedPage,
  TypedTurn,
} from './context/typed/typed-contexts.ts';
export type { Turn, TurnJson } from './context/turn.ts';
export { registerCodec } from './context/payloads/codecs.ts';
export type { Codec, PayloadEncoding } from './context/payloads/codecs.ts';
export type { EncodingName } from './format/turn-record.ts';
export type { BundleVersion, Bundles, RegisteredBundle } from './workflow/bundles/bundles.ts';
export type { JsonObject } from './workflow/home/workflows-home.ts';
export type { Descriptor, RoleDescriptor } from './workflow/bundles/descriptor.ts';
export type { JsonSchema } from './workflow/bundles/json-schema.ts';
export type { ThreadId } from './workflow/home/workflows-home.ts';
export type {
  RunOptions,
  RunResult,
  Step,
  StepPage,
  Thread,
  ThreadContext,
  ThreadEntry,
  ThreadStart,
  EndThread,
  ForkOptions,
  IndexChange,
  ListThreads,
  LiveOptions,
  NewStep,
  StartThread,
  StepsOptions,
  Summarise,
  ThreadPage,
  Workflows,
} from './workflow/threads/workflows.ts';
export type {
  ConsumerProgress,
  ConsumerState,
  DispatchReport,
  EventIdLike,
  EventType,
  NewEvent as NewQueueEvent,
  NewSubscription,
  OpenQueueOptions,
  PeekOptions,
  PopOptions,
  Queue,
  QueueEvent,
  QueueFollowOptions,
  QueueInfo,
  Queues,
  QueueSummary,
  RunningHandler,
  Subscription,
  WorkNote,
  WorkOptions,
} from './queue/events/queue.ts';
export {
  BlobFiles,
  prepareEntryForPersistence,
  prepareEntryForPersistenceSync,
  resolveBlobRefsInEntries,
  resolveBlobRefsInEntriesSync,
} from './session/entries/blob-files.ts';
export type { BlobFile, EntryBlobs } from './session/entries/blob-files.ts';
export { OutputSink, describeOutput } from './session/sink/output-sink.ts';
export type { OutputSummary, SinkOptions } from './session/sink/output-sink.ts';
export type { ArtifactDraft, Artifacts, SavedArtifact } from './session/artifacts/artifacts.ts';
export type { ForkReport, SessionForkOptions } from './session/carry/fork-session.ts';
export type { MoveReport } from './session/carry/move-session.ts';
export type { SessionWarning } from './session/entries/pictures.ts';
export type { NewEntry, SessionEntry, SessionHeader } from './session/entries/session-entry.ts';
export type {
  Session,
  SinkRequest,
  NewSession,
  SessionOptions,
  Sessions,
} from './session/sessions.ts';
export type {
  SessionView,
  SessionReadOptions,
  SessionLastOptions,
  LoadedEntry,
} from './session/log/read-entries.ts';
export type {
  SessionDetails,
  SessionSummary,
  SessionsPage,
  TidyOptions,
  TidyReport,
} from './session/keep/manage-sessions.ts';
export type { ExportReport } from './session/carry/export-session.ts';
export type { LineRange } from './session/urls/read-range.ts';
export type { Resource } from './session/urls/resolve-url.ts';
export type {
  AnsweredQuestion,
  AppendOptions as ChatAppendOptions,
  AttachOptions,
  Chat,
  ChatInfo,
  ChatList,
  ChatRetainReport,
  ChatRetention,
  ChatStatus,
  Chats,
  ClarificationBatch,
  ClarificationPage,
  ClarificationQuery,
  Completion as ChatCompletion,
  EventPage,
  MessagePage,
  MessageQuery,
  MessageStream,
  NewChat,
  NewMessage,
  NewToolCall,
  Projected,
  RedactOptions,
  RedactReport,
  ToolResult,
} from './chat/handle/chats.ts';
export type {
  ChatEvent,
  ChatProblem,
  JsonObject as EventPayload,
  NewEvent as NewChatEvent,
  PayloadRef,
} from './chat/events/event.ts';
export type { CustomType as ChatEventType } from './chat/events/documents.ts';
export { parseMarkdown as parseChatMarkdown } from './chat/export/markdown.ts';
export type { MarkdownHead, ParsedMarkdown } from './chat/export/markdown.ts';
export type { Answer, BatchPayload, Question, QuestionKind } from './chat/events/payloads.ts';
export { fold as foldEvents, fromSnapshot, takeSnapshot } from './chat/projections/projection.ts';
export type { Projection, Snapshot as ProjectionSnapshot } from './chat/projections/projection.ts';
export { branchesProjection, usageProjection } from './chat/projections/overview.ts';
export type { Branch as ChatBranch, Usage as ChatUsage } from './chat/projections/overview.ts';
export { clarificationProjection } from './chat/projections/clarification.ts';
export type { Clarification, OpenClarification } from './chat/projections/clarification.ts';
export type { Attachment as ChatAttachment, ChatMessage } from './chat/projections/message-part.ts';
export type {
  AttachmentPart,
  MessagePart,
  MessageParts,
  Piece as MessagePiece,
  Text as MessageText,
  Told as MessageTold,
} from './chat/projections/message-part.ts';
export { messagesProjection } from './chat/projections/message-part.ts';
export type { Upcaster } from './chat/events/read-line.ts';
export type {
  FacetCount,
  Facets as SearchFacets,
  IndexState as SearchIndexState,
  Neighbour as SearchNeighbour,
  SearchAnswer,
  SearchGroup,
  SearchHit,
  SearchOptions,
  SearchSettings,
  Snippet as SearchSnippet,
} from './search/contract/search.ts';
export type { SearchKind } from './search/query/query.ts';
export type {
  Extracted as ExtractedText,
  Extractor as TextExtractor,
} from './search/text/extract.ts';
