export { Conversations } from './agents/conversations/conversations.ts';
export type { Answer, ConversationShape, Message } from './agents/conversations/conversations.ts';
export { Checkpoints } from './agents/checkpoints/checkpoints.ts';
export type {
  Checkpoint,
  CheckpointHeader,
  CheckpointListOptions,
  CheckpointOptions,
  Encoded,
  NewCheckpoint,
  NewWrite,
  PendingWrite,
  ThreadName,
  ValueCodec,
} from './agents/checkpoints/checkpoint.ts';
