import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask } from '../api/http.ts';
import { attempt, Empty, Go, KeyValues, Skeleton, Time, Trouble } from '../parts/basics.tsx';
import { Fold } from '../parts/blocks.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { go, say, scope, useTitle } from '../state/app.ts';
import { exactTime, firstLine, plural, shortHash, visible } from '../state/format.ts';
import { useLoad } from '../state/load.ts';
import { useStream } from '../state/stream.ts';

interface Step {
  readonly hash: string;
  readonly role: string;
  readonly meta: Record<string, unknown>;
  readonly timestamp: number;
  readonly content?: string;
  readonly refs?: readonly string[];
  readonly compact?: string;
  readonly childThread?: string;
}

const STEPS = 200;

/** A workflow thread step by step: role, state, references, live. */
export function WorkflowView({ thread }: { thread: string }): JSX.Element {
  const info = useLoad(`workflow ${thread}`, (signal) =>
    ask('getThread', { id: thread }, { signal }),
  );
  const start = useLoad(`start ${thread}`, (signal) =>
    ask('getThreadContext', { id: thread }, { signal }),
  );
  const steps = useLoad(`steps ${thread}`, (signal) =>
    ask('listSteps', { id: thread, limit: STEPS }, { signal }),
  );
  const [chosen, setChosen] = useState<string>();
  useStream(`workflow ${thread}`, 'followThread', { id: thread }, () => {
    steps.again();
    info.again();
  });
  useTitle(start.value?.start.name);
  if (info.error !== undefined) return <Trouble error={info.error} again={info.again} />;
  const list = (steps.value?.steps ?? []) as readonly Step[];
  const prompt = start.value?.start;
  const current = list.find(({ hash }) => hash === chosen);
  return (
    <>
      <main class="thread" aria-label="Workflow">
        <div class="turns still">
          {prompt !== undefined && (
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
          )}
          {steps.value === undefined ? (
            <Skeleton rows={5} />
          ) : (
            list.map((step) => (
              <StepCard
                key={step.hash}
                step={step}
                isChosen={step.hash === chosen}
                onChoose={() => setChosen(step.hash)}
              />
            ))
          )}
          {steps.value !== undefined && list.length === 0 && (
            <Empty title="No step was recorded yet." />
          )}
        </div>
      </main>
      <aside class="look" aria-label="Details">
        {info.value !== undefined && (
          <section>
            <h2>Workflow</h2>
            <KeyValues
              rows={[
                ['thread', <code>{thread}</code>],
                ['state', info.value.outcome ?? info.value.state],
                info.value.returnCode === undefined
                  ? undefined
                  : ['return code', <code>{info.value.returnCode}</code>],
                ['bundle', <code>{shortHash(info.value.bundle)}</code>],
                ['updated', exactTime(info.value.updatedAt)],
                ['steps', plural(list.length, 'step')],
              ]}
            />
          </section>
        )}
        {current !== undefined && <StepFacts thread={thread} step={current} />}
      </aside>
    </>
  );
}

function StepCard({
  step,
  isChosen,
  onChoose,
}: {
  step: Step;
  isChosen: boolean;
  onChoose: () => void;
}): JSX.Element {
  const isEnd = step.role === '__end__';
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
        {step.content !== undefined && <Markdown text={step.content} />}
        {Object.keys(step.meta).length > 0 && (
          <Fold label="State" detail={firstLine(JSON.stringify(step.meta), 80)}>
            <JsonTree value={step.meta} />
          </Fold>
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
          step.refs === undefined ? undefined : ['refs', plural(step.refs.length, 'reference')],
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
