import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Answers } from '../api/answers.ts';
import { ask } from '../api/http.ts';
import { attempt, Go, KeyValues, laneColour } from '../parts/basics.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { showPayload } from '../shapes/show-turn.ts';
import { toMarkdown } from '../shapes/markdown-of.ts';
import type { Tokens } from '../shapes/shown.ts';
import { go, hrefOf, say, scope } from '../state/app.ts';
import { askPerson } from '../state/asking.ts';
import { exportThread } from '../state/export-thread.ts';
import { bytes, count, exactTime, plural, shortHash, visible } from '../state/format.ts';
import { useLoad } from '../state/load.ts';
import { branchesThrough, layOut, nodeOver, type Tree } from '../state/tree.ts';
import type { TurnJson } from '../state/turn-window.ts';

type ContextJson = Answers['getContext'];

interface Given {
  readonly context: ContextJson | undefined;
  readonly tree: Tree | undefined;
  readonly turn: TurnJson | undefined;
  readonly onChange: () => void;
}

/** The right column: the chosen turn, what it shares, what can be done, and the context. */
export function Inspector({ context, tree, turn, onChange }: Given): JSX.Element {
  return (
    <aside class="look" aria-label="Details">
      {turn !== undefined && <TurnFacts turn={turn} />}
      {turn !== undefined && context !== undefined && (
        <>
          <AlsoOn {...{ context, tree, turn }} />
          <TurnActs {...{ context, turn }} />
        </>
      )}
      {context !== undefined && <ContextFacts {...{ context, tree, onChange }} />}
    </aside>
  );
}

function TurnFacts({ turn }: { turn: TurnJson }): JSX.Element {
  const [raw, setRaw] = useState(false);
  const { tokens, at } = showPayload(turn.payload, turn.type);
  return (
    <section class="facts">
      <h2>Turn</h2>
      <KeyValues
        rows={[
          ['id', <code>{turn.id}</code>],
          ['depth', <code>{count(turn.depth)}</code>],
          ['parent', <code>{turn.parent}</code>],
          ['type', <code>{visible(turn.type)}</code>],
          at === undefined ? undefined : ['said', exactTime(at)],
          ['written', exactTime(turn.createdAt)],
          turn.payloadHash === undefined
            ? undefined
            : ['blob', <code title={turn.payloadHash}>b3:{shortHash(turn.payloadHash)}</code>],
          ['size', bytes(turn.size)],
          turn.outcome === undefined ? undefined : ['outcome', turn.outcome],
        ]}
      />
      {tokens !== undefined && <TokenBar tokens={tokens} />}
      <button type="button" onClick={() => setRaw(!raw)} aria-expanded={raw}>
        {raw ? 'Close the record' : 'Raw record'}
      </button>
      {raw && <JsonTree value={turn} />}
    </section>
  );
}

function TokenBar({ tokens }: { tokens: Tokens }): JSX.Element {
  const parts = [
    ['cached', tokens.cacheRead ?? 0, 1],
    ['written to cache', tokens.cacheWrite ?? 0, 2],
    ['input', tokens.input ?? 0, 3],
    ['output', tokens.output ?? 0, 0],
  ] as const;
  const total = parts.reduce((sum, [, value]) => sum + value, 0) || 1;
  const shown = parts.filter(([, value]) => value > 0);
  return (
    <>
      <h2>Tokens</h2>
      <div class="bar" aria-hidden="true">
        {shown.map(([name, value, lane]) => (
          <i
            key={name}
            style={{ width: `${(100 * value) / total}%`, background: laneColour(lane) }}
          />
        ))}
      </div>
      <p class="muted">{shown.map(([name, value]) => `${count(value)} ${name}`).join(' · ')}</p>
    </>
  );
}

function AlsoOn({
  context,
  tree,
  turn,
}: {
  context: ContextJson;
  tree: Tree | undefined;
  turn: TurnJson;
}): JSX.Element | null {
  if (tree === undefined) return null;
  const end = nodeOver(tree, context.id, turn.depth);
  const others = (end === undefined ? [] : branchesThrough(tree, end.turn)).filter(
    (branch) => branch.context !== context.id,
  );
  if (others.length === 0) return null;
  const { laneOf } = layOut(tree);
  return (
    <section>
      <h2>Also on</h2>
      <ul class="branches">
        {others.slice(0, 20).map((branch) => (
          <li key={branch.context}>
            <i style={{ background: laneColour(laneOf.get(branch.context) ?? 0) }} />
            <Go to={{ at: 'context', context: branch.context, turn: turn.id }}>
              {visible(branch.title ?? branch.name ?? `context ${branch.context}`)}
            </Go>
          </li>
        ))}
        {others.length > 20 && (
          <li>{plural(others.length - 20, 'more branch', 'more branches')}</li>
        )}
      </ul>
    </section>
  );
}

function TurnActs({ context, turn }: { context: ContextJson; turn: TurnJson }): JSX.Element {
  const mayWrite = scope.value !== 'read';
  const pins = useLoad('pins', (signal) => ask('listPins', {}, { signal }));
  const isPinned = pins.value?.pins.some((pin) => pin.turn === turn.id) === true;
  const pin = (): Promise<void> =>
    (isPinned
      ? attempt(() => ask('unpinTurn', { id: turn.id }), 'The turn is not pinned any more.', say)
      : attempt(() => ask('pinTurn', { id: turn.id }, { body: {} }), 'The turn is pinned.', say)
    ).then(pins.again);
  return (
    <section>
      <h2>Actions</h2>
      <div class="acts">
        {mayWrite && (
          <button type="button" class="first" onClick={() => void fork(context, turn)}>
            Fork from here
          </button>
        )}
        <button
          type="button"
          onClick={() => copy(linkTo(context.id, turn.id), 'The link is copied.')}
        >
          Copy link
        </button>
        <button type="button" onClick={() => copy(toMarkdown(turn), 'The Markdown is copied.')}>
          Copy Markdown
        </button>
        {mayWrite && (
          <button type="button" aria-pressed={isPinned} onClick={() => void pin()}>
            {isPinned ? 'Unpin' : 'Pin'}
          </button>
        )}
        {mayWrite && turn.tombstone !== true && (
          <button type="button" onClick={() => void hide(turn)}>
            Hide…
          </button>
        )}
      </div>
    </section>
  );
}

async function fork(context: ContextJson, turn: TurnJson): Promise<void> {
  const title = await askPerson({
    title: 'Fork from here',
    text: `The new branch shares everything up to turn ${turn.id}. Nothing is copied.`,
    label: 'Title',
    value: `${context.title ?? `Context ${context.id}`}, from turn ${turn.id}`,
    yes: 'Fork',
  });
  if (title === undefined) return;
  const body = title === '' ? {} : { title };
  const make = async (): Promise<void> => {
    const made = await ask('forkTurn', { id: turn.id }, { body });
    go({ at: 'context', context: made.id });
  };
  await attempt(make, 'The fork is made.', say);
}

async function hide(turn: TurnJson): Promise<void> {
  const reason = await askPerson({
    title: `Hide turn ${turn.id}?`,
    text: 'No reader is shown its payload any more. The payload stays stored until it is erased.',
    label: 'Reason',
    yes: 'Hide',
  });
  if (reason === undefined) return;
  const body = { reason: reason || 'hidden in the page' };
  await attempt(() => ask('tombstoneTurn', { id: turn.id }, { body }), 'The turn is hidden.', say);
}

function linkTo(context: string, turn: string): string {
  return new URL(hrefOf({ at: 'context', context, turn }), location.href).href;
}

function copy(text: string, done: string): void {
  void attempt(() => navigator.clipboard.writeText(text), done, say);
}

function ContextFacts({
  context,
  tree,
  onChange,
}: {
  context: ContextJson;
  tree: Tree | undefined;
  onChange: () => void;
}): JSX.Element {
  const branches = tree?.branches.length ?? 1;
  const change = (body: object, done: string): void =>
    void attempt(() => ask('updateContext', { id: context.id }, { body }), done, say).then(
      onChange,
    );
  const rename = async (): Promise<void> => {
    const title = await askPerson({
      title: 'Rename',
      label: 'Title of this context',
      value: context.title ?? '',
      yes: 'Rename',
    });
    if (title !== undefined) change({ title: title || null }, 'The title is changed.');
  };
  const label = async (): Promise<void> => {
    const labels = await askPerson({
      title: 'Labels',
      label: 'Separated by commas',
      value: context.labels.join(', '),
      yes: 'Change',
    });
    if (labels === undefined) return;
    const list = labels.split(',').map((one) => one.trim());
    change({ labels: list.filter((one) => one !== '') }, 'The labels are changed.');
  };
  return (
    <section>
      <h2>Context</h2>
      <KeyValues
        rows={[
          ['id', <code>{context.id}</code>],
          context.name === undefined ? undefined : ['name', visible(context.name)],
          context.kind === undefined ? undefined : ['kind', visible(context.kind)],
          context.labels.length === 0 ? undefined : ['labels', visible(context.labels.join(', '))],
          [
            'turns',
            <Go to={{ at: 'branches', context: context.id }}>
              {count(context.head === '0' ? 0 : context.headDepth + 1)} on{' '}
              {plural(branches, 'branch', 'branches')}
            </Go>,
          ],
          ['created', exactTime(context.createdAt)],
        ]}
      />
      {context.meta !== undefined && <JsonTree value={context.meta} open={false} />}
      {scope.value !== 'read' && (
        <div class="acts">
          <button type="button" onClick={() => void rename()}>
            Rename…
          </button>
          <button type="button" onClick={() => void label()}>
            Labels…
          </button>
          <button type="button" onClick={() => void exportThread(context)}>
            Export
          </button>
        </div>
      )}
    </section>
  );
}
