import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Answers } from '../api/answers.ts';
import { ask } from '../api/http.ts';
import { attempt, Empty, KeyValues, Skeleton, Time, Trouble } from '../parts/basics.tsx';
import { Found } from '../parts/found.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { SPEAKERS } from '../parts/turn-card.tsx';
import { toRole } from '../shapes/shown.ts';
import { go, say, scope, useTitle } from '../state/app.ts';
import { count, exactTime, visible } from '../state/format.ts';
import { useLoad } from '../state/load.ts';
import { useStream } from '../state/stream.ts';

type Message = Answers['listMessages']['messages'][number];

interface Question {
  readonly id: string;
  readonly text: string;
  readonly options?: readonly string[];
}

const PAGE = 100;

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
  const [limit, setLimit] = useState(PAGE);
  const [branch, setBranch] = useState<string>();
  const info = useLoad(`chat ${chat}`, (signal) => ask('getChat', { id: chat }, { signal }));
  const page = useLoad(`messages ${chat} ${branch ?? ''} ${limit}`, (signal) =>
    ask('listMessages', { id: chat, limit, ...(branch !== undefined && { branch }) }, { signal }),
  );
  useStream(`chat ${chat}`, 'followChat', { id: chat }, ({ event }) => {
    if (event === 'behind') return;
    page.again();
    info.again();
  });
  useTitle(info.value?.title);
  const messages = page.value?.messages ?? [];
  useEffect(() => {
    if (message === undefined) return;
    document.querySelector(`#message-${CSS.escape(message)}`)?.scrollIntoView({ block: 'center' });
  }, [message, page.value === undefined]);
  if (info.error !== undefined) return <Trouble error={info.error} again={info.again} />;
  const branches = (info.value?.branches ?? []) as unknown as readonly { id: string }[];
  const open = (info.value?.clarification as { open?: { questions: Question[] } } | undefined)
    ?.open;
  return (
    <>
      <main class="thread" aria-label="Chat">
        <div class="turns still">
          {page.value?.before !== undefined && (
            <button type="button" class="more" onClick={() => setLimit(limit + PAGE)}>
              Older messages
            </button>
          )}
          {page.value === undefined ? (
            <Skeleton rows={6} />
          ) : messages.length === 0 ? (
            <Empty title="Nothing was said here yet." command={`quipu chat send ${chat} hello`} />
          ) : (
            messages.map((one) => (
              <MessageCard
                key={one.id}
                {...{ chat, query }}
                message={one}
                isChosen={one.id === message}
              />
            ))
          )}
          {open !== undefined && <OpenQuestions chat={chat} questions={open.questions} />}
        </div>
      </main>
      <aside class="look" aria-label="Details">
        {info.value !== undefined && (
          <section>
            <h2>Chat</h2>
            <KeyValues
              rows={[
                ['title', visible(info.value.title)],
                ['messages', count(info.value.messages)],
                ['events', count(info.value.events)],
                ['created', exactTime(Date.parse(info.value.createdAt))],
                info.value.pinned ? ['pinned', 'yes'] : undefined,
                info.value.archivedAt === undefined ? undefined : ['archived', 'yes'],
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
                    onClick={() => setBranch(id === branch ? undefined : id)}
                  >
                    {visible(id)}
                  </button>
                </li>
              ))}
            </ul>
          </section>
        )}
      </aside>
    </>
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
