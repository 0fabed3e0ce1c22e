import type { ChatView } from './chat-view.ts';
import type { ChatWriter } from './events/chat-writer.ts';
import type { ChatsWorld } from './chats-world.ts';

/** The context in which the verbs of one chat work. */
export interface ChatHandle {
  readonly world: ChatsWorld;
  readonly view: ChatView;
  readonly writer: ChatWriter;
  /** `what` names the call, for the message. */
  readonly assertOpen: (what: string) => void;
}
