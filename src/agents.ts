export { Conversations } from './agents/conversations/conversations.ts';
export type { Answer, ConversationShape, Message } from './agents/conversations/conversations.ts';
