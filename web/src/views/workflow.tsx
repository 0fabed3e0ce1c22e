import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Answers } from '../api/answers.ts';
import { ask } from '../api/http.ts';
import { attempt, Empty, Go, KeyValues, Skeleton, Time, Trouble } from '../parts/basics.tsx';
import { BlobFold } from '../parts/blob-fold.tsx';
import { Fold } from '../parts/fold.tsx';
import { Found } from '../parts/found.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { LongList } from '../parts/long-list.tsx';
import { Markdown } from '../parts/markdown.tsx';
import type { VListHandle } from '../parts/virtual-list.tsx';
import { go, say, scope, useTitle } from '../state/app.ts';
import { count, exactTime, firstLine, plural, shortHash, visible } from '../state/format.ts';
import { useLoad } from '../state/load.ts';
import { usePaged, type Paged } from '../state/paged.ts';
import { useNews } from '../state/stream.ts';

type Step = Answers['listSteps']['steps'][number];

const REFS_SHOWN = 20;

type Run = Answers['listThreads']['items'][number];

const idOf = ({ hash }: Step): string => hash;

/** A workflow thread step by step: role, state, references, live. */
export function WorkflowView({
  thread,
  step: asked,
  query,
}: {
  thread: string;
  step?: string;
  /** The search that led to the step. */
  query?: string;
}): JSX.Element {
  const info = useLoad(`workflow ${thread}`, (signal) =>
    ask('getThread', { id: thread }, { signal }),
  );
  const start = useLoad(`start ${thread}`, (signal) =>
    ask('getThreadContext', { id: thread }, { signal }),
  );
  const paged = usePaged(
    {
      key: `steps ${thread}`,
      idOf,
      read: async ({ before, limit }, signal) => {
        const { steps, cursor } = await ask('listSteps', { id: thread, limit, before }, { signal });
        return { items: steps, cursor };
      },
    },
    asked,
  );
  const [chosen, setChosen] = useState<string | undefined>(asked);
  useEffect(() => setChosen(asked), [thread, asked]);
  const after = paged.items.at(-1)?.hash;
  const watched = paged.isLoaded ? { id: thread, after } : undefined;
  useNews(`workflow ${thread}`, 'followThread', watched, () => {
    paged.renew();
    info.again();
  });
  useTitle(start.value?.start.name);
  const problem = info.error ?? paged.error;
  if (problem !== undefined) return <Trouble error={problem} again={paged.again} />;
  const { items: list } = paged;
  const current = list.find(({ hash }) => hash === chosen) ?? list.at(-1);
  return (
    <>
      <main class="thread" aria-label="Workflow">
        {paged.isLoaded ? (
          <Steps
            {...{ thread, paged, asked, query, chosen }}
            prompt={start.value?.start}
            isActive={info.value?.state === 'active'}
            onChoose={setChosen}
          />
        ) : (
          <Skeleton rows={5} />
        )}
      </main>
      <aside class="look" aria-label="Details">
        {current !== undefined && <StepFacts thread={thread} step={current} />}
        {info.value !== undefined && (
          <>
            <section>
              <h2>Workflow</h2>
              <KeyValues
                rows={[
                  ['state', <State thread={info.value} />],
                  info.value.returnCode === undefined
                    ? undefined
                    : ['return code', <code>{info.value.returnCode}</code>],
                  ['updated', exactTime(info.value.updatedAt)],
                  ['thread', <code title={thread}>{shortHash(thread)}</code>],
                  ['bundle', <code title={info.value.bundle}>{shortHash(info.value.bundle)}</code>],
                ]}
              />
            </section>
            <Runs bundle={info.value.bundle} current={thread} key={info.value.state} />
          </>
        )}
      </aside>
    </>
  );
}

interface StepsGiven {
  readonly thread: string;
  readonly paged: Paged<Step>;
  readonly prompt: Answers['getThreadContext']['start'] | undefined;
  readonly isActive: boolean;
  readonly asked: string | undefined;
  readonly query: string | undefined;
  readonly chosen: string | undefined;
  readonly onChoose: (hash: string) => void;
}

/** The prompt, then the steps, then what is under way. */
function Steps(given: StepsGiven): JSX.Element {
  const { thread, paged, prompt, isActive, asked, query, chosen, onChoose } = given;
  const { items: list, hasOlder, hasNewer } = paged;
  const handle = useRef<VListHandle>(null);
  const hasPrompt = prompt !== undefined && !hasOlder;
  const at = list.findIndex(({ hash }) => hash === asked);
  if (list.length === 0 && !hasPrompt) return <Empty title="No step was recorded yet." />;
  return (
    <LongList
      place={`${thread}/${asked ?? ''}`}
      items={list}
      at={at === -1 ? undefined : at + Number(hasPrompt)}
      tail={`${isActive} ${hasPrompt}`}
      end={list.at(-1)?.hash}
      hasNewer={hasNewer}
      shift={paged.atTop}
      older={paged.older}
      newer={paged.newer}
      handle={handle}
    >
      {hasPrompt && <Prompt key="prompt" prompt={prompt} />}
      {list.map((step) => (
        <StepCard
          key={step.hash}
          step={step}
          isChosen={step.hash === chosen}
          query={step.hash === asked ? query : undefined}
          onChoose={() => onChoose(step.hash)}
        />
      ))}
      {isActive && !hasNewer && <Awaiting key="awaiting" isFirst={list.length === 0} />}
    </LongList>
  );
}

function Prompt({ prompt }: { prompt: NonNullable<StepsGiven['prompt']> }): JSX.Element {
  return (
    <article class="turn">
      <i class="knot" />
      <div class="said">
        <header>
          <b>{visible(prompt.name)}</b>
          <span>{plural(prompt.maxRounds, 'round')} at most</span>
        </header>
        <Markdown text={prompt.prompt} />
      </div>
    </article>
  );
}

/** The next step is being made. */
function Awaiting({ isFirst }: { isFirst: boolean }): JSX.Element {
  return (
    <article class="turn writing" aria-busy="true">
      <i class="knot" />
      <div class="said">
        <header>
          <b>Running</b>
          <span>waits for the {isFirst ? 'first' : 'next'} step</span>
          <i class="caret" />
        </header>
      </div>
    </article>
  );
}

function State({ thread }: { thread: Run }): JSX.Element {
  const state = thread.outcome ?? thread.state;
  const look = state === 'completed' ? 'good' : state === 'failed' ? 'bad' : '';
  return <span class={look}>{state}</span>;
}

const RUNS = 200;

/** Other runs of the same workflow: those under way, then those that ended, by date. */
function Runs({ bundle, current }: { bundle: string; current: string }): JSX.Element | null {
  const runs = useLoad(`runs ${bundle}`, (signal) =>
    ask('listThreads', { state: 'all', bundle, limit: RUNS, details: true }, { signal }),
  );
  if (runs.value === undefined) return null;
  const days = new Map<string, Run[]>();
  for (const run of runs.value.items) {
    const day =
      run.state === 'completed' ? new Date(run.updatedAt).toISOString().slice(0, 10) : 'under way';
    days.set(day, [...(days.get(day) ?? []), run]);
  }
  return (
    <section class="runs">
      <h2>History</h2>
      {[...days].map(([day, list]) => (
        <div key={day}>
          <h3>{day}</h3>
          <ul class="branches">
            {list.map((run) => (
              <li key={run.id}>
                <Go to={{ at: 'workflow', thread: run.id }} isCurrent={run.id === current}>
                  {firstLine(run.prompt ?? run.id, 60)}
                </Go>{' '}
                <State thread={run} />
              </li>
            ))}
          </ul>
        </div>
      ))}
      {runs.value.cursor !== undefined && <p class="muted">Older runs are not listed here.</p>}
    </section>
  );
}

function StepCard({
  step,
  isChosen,
  query,
  onChoose,
}: {
  step: Step;
  isChosen: boolean;
  query: string | undefined;
  onChoose: () => void;
}): JSX.Element {
  const isEnd = step.role === '__end__';
  const refs = step.refs ?? [];
  return (
    <article class={`turn ${isChosen ? 'on' : ''}`} onClick={onChoose}>
      <i class="knot" />
      <div class="said">
        <header>
          <b>{isEnd ? 'End' : visible(step.role)}</b>
          {step.compact !== undefined && <span>summary of the steps before</span>}
          <span class="at">
            <Time at={step.timestamp} />
          </span>
        </header>
        <Found query={query}>
          {step.content !== undefined && <Markdown text={step.content} />}
          {Object.keys(step.meta).length > 0 && (
            <Fold label="State" detail={firstLine(JSON.stringify(step.meta), 80)}>
              <JsonTree value={step.meta} />
            </Fold>
          )}
        </Found>
        {refs.slice(0, REFS_SHOWN).map((ref) => (
          <BlobFold key={ref} hash={ref} />
        ))}
        {refs.length > REFS_SHOWN && (
          <p class="muted">and {plural(refs.length - REFS_SHOWN, 'reference')} more</p>
        )}
        {step.childThread !== undefined && (
          <Go to={{ at: 'workflow', thread: step.childThread }}>Child workflow</Go>
        )}
      </div>
    </article>
  );
}

function StepFacts({ thread, step }: { thread: string; step: Step }): JSX.Element {
  const fork = (): Promise<boolean> =>
    attempt(
      async () => {
        const made = await ask('forkThread', { id: thread }, { body: { at: step.hash } });
        go({ at: 'workflow', thread: made.id });
      },
      'The fork is made.',
      say,
    );
  return (
    <section>
      <h2>Step</h2>
      <KeyValues
        rows={[
          ['role', visible(step.role)],
          ['hash', <code title={step.hash}>{shortHash(step.hash)}</code>],
          ['written', exactTime(step.timestamp)],
          step.refs === undefined ? undefined : ['refs', count(step.refs.length)],
        ]}
      />
      {scope.value !== 'read' && (
        <div class="acts">
          <button type="button" class="first" onClick={() => void fork()}>
            Fork from here
          </button>
        </div>
      )}
    </section>
  );
}
