import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Answers } from '../api/answers.ts';
import { ask } from '../api/http.ts';
import { attempt, Empty, KeyValues, Skeleton, Time, Trouble } from '../parts/basics.tsx';
import { Found } from '../parts/found.tsx';
import { LongList } from '../parts/long-list.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { SPEAKERS } from '../parts/turn-card.tsx';
import type { VListHandle } from '../parts/virtual-list.tsx';
import { toRole } from '../shapes/shown.ts';
import { go, say, scope, useTitle } from '../state/app.ts';
import { count, exactTime, visible } from '../state/format.ts';
import { useLoad } from '../state/load.ts';
import { usePaged } from '../state/paged.ts';
import { useNews } from '../state/stream.ts';

type Message = Answers['listMessages']['messages'][number];

interface Question {
  readonly id: string;
  readonly text: string;
  readonly options?: readonly string[];
}

const idOf = ({ id }: Message): string => id;

function placeOf(messages: readonly Message[], id: string | undefined): number | undefined {
  const at = messages.findIndex((message) => message.id === id);
  return at === -1 ? undefined : at;
}

/** The messages of a chat, its open questions, and its branches. */
export function ChatView({
  chat,
  message,
  query,
}: {
  chat: string;
  message?: string;
  /** The search that led to the message. */
  query?: string;
}): JSX.Element {
  const [branch, setBranch] = useState<string>();
  const info = useLoad(`chat ${chat}`, (signal) => ask('getChat', { id: chat }, { signal }));
  const paged = usePaged(
    {
      key: `messages ${chat} ${branch ?? ''}`,
      idOf,
      read: async ({ before, limit }, signal) => {
        const given = { id: chat, limit, before, branch };
        const { messages, before: cursor } = await ask('listMessages', given, { signal });
        return { items: messages, cursor };
      },
    },
    message,
  );
  const { items: messages, isLoaded } = paged;
  const list = useRef<VListHandle>(null);
  // From the event that the chat had when it was first read; what came since then is read once more below.
  const events = info.value?.events;
  const watched = events === undefined ? undefined : { id: chat, after: events };
  useNews(`chat ${chat}`, 'followChat', watched, () => {
    paged.renew();
    info.again();
  });
  useEffect(() => {
    if (isLoaded && events !== undefined) paged.renew();
  }, [isLoaded, events === undefined]);
  useTitle(info.value?.title);
  const problem = info.error ?? paged.error;
  if (problem !== undefined) return <Trouble error={problem} again={paged.again} />;
  const open = (info.value?.clarification as { open?: { questions: Question[] } } | undefined)
    ?.open;
  return (
    <>
      <main class="thread" aria-label="Chat">
        {!isLoaded ? (
          <Skeleton rows={6} />
        ) : messages.length === 0 && open === undefined ? (
          <Empty title="Nothing was said here yet." command={`quipu chat send ${chat} hello`} />
        ) : (
          <LongList
            place={`${chat}/${branch ?? ''}/${message ?? ''}`}
            items={messages}
            at={placeOf(messages, message)}
            tail={open}
            end={messages.at(-1)?.id}
            hasNewer={paged.hasNewer}
            shift={paged.atTop}
            older={paged.older}
            newer={paged.newer}
            handle={list}
          >
            {messages.map((one) => (
              <MessageCard
                key={one.id}
                {...{ chat, query }}
                message={one}
                isChosen={one.id === message}
              />
            ))}
            {open !== undefined && !paged.hasNewer && (
              <OpenQuestions key="open" chat={chat} questions={open.questions} />
            )}
          </LongList>
        )}
      </main>
      <ChatDetails info={info.value} branch={branch} onBranch={setBranch} />
    </>
  );
}

function ChatDetails({
  info,
  branch,
  onBranch,
}: {
  info: Answers['getChat'] | undefined;
  branch: string | undefined;
  onBranch: (branch: string | undefined) => void;
}): JSX.Element {
  const branches = (info?.branches ?? []) as unknown as readonly { id: string }[];
  return (
    <aside class="look" aria-label="Details">
      {info !== undefined && (
        <section>
          <h2>Chat</h2>
          <KeyValues
            rows={[
              ['title', visible(info.title)],
              ['messages', count(info.messages)],
              ['events', count(info.events)],
              ['created', exactTime(Date.parse(info.createdAt))],
              info.pinned ? ['pinned', 'yes'] : undefined,
              info.archivedAt === undefined ? undefined : ['archived', 'yes'],
            ]}
          />
        </section>
      )}
      {branches.length > 1 && (
        <section>
          <h2>Branches</h2>
          <ul class="branches">
            {branches.map(({ id }) => (
              <li key={id}>
                <button
                  type="button"
                  aria-pressed={id === branch}
                  onClick={() => onBranch(id === branch ? undefined : id)}
                >
                  {visible(id)}
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </aside>
  );
}

function MessageCard({
  chat,
  message,
  isChosen,
  query,
}: {
  chat: string;
  message: Message;
  isChosen: boolean;
  query: string | undefined;
}): JSX.Element {
  const role = toRole(message.role);
  const fork = (): Promise<boolean> =>
    attempt(() => ask('forkChat', { id: chat, message: message.id }, { body: {} }), 'Forked.', say);
  return (
    <article
      class={`turn ${isChosen ? 'on' : ''} ${message.state === 'streaming' ? 'writing' : ''}`}
      id={`message-${message.id}`}
      onClick={() => isChosen || go({ at: 'chat', chat, message: message.id }, { replace: true })}
    >
      <i class="knot" />
      <div class="said">
        <header>
          <b>{role === undefined ? visible(message.role) : SPEAKERS[role]}</b>
          {message.edits > 0 && <span>edited</span>}
          {message.state === 'streaming' && <span>writing</span>}
          <span class="at">
            {isChosen && scope.value !== 'read' && (
              <button type="button" onClick={() => void fork()}>
                Fork
              </button>
            )}
            <Time at={Date.parse(message.at)} />
          </span>
        </header>
        {message.damaged !== undefined ? (
          <p class="bad">{message.damaged}</p>
        ) : message.redacted !== undefined ? (
          <p class="muted">This message was redacted: {visible(message.redacted.reason)}</p>
        ) : (
          <Found query={isChosen ? query : undefined}>
            <Markdown text={message.content} />
          </Found>
        )}
        {message.attachments.map(({ id, hash, ...more }) => (
          <p key={id} class="muted">
            Attached: {visible(String((more as { name?: string }).name ?? hash))}
          </p>
        ))}
      </div>
    </article>
  );
}

function OpenQuestions({
  chat,
  questions,
}: {
  chat: string;
  questions: readonly Question[];
}): JSX.Element {
  return (
    <article class="turn question">
      <i class="knot" />
      <div class="said">
        <header>
          <b>Waiting for your answer</b>
        </header>
        <ul>
          {questions.map((question) => (
            <li key={question.id}>
              {visible(question.text)}
              {question.options !== undefined && (
                <span class="muted"> ({visible(question.options.join(', '))})</span>
              )}
            </li>
          ))}
        </ul>
        <p class="muted">
          Answer with <code>quipu chat answer {chat}</code>
        </p>
      </div>
    </article>
  );
}
