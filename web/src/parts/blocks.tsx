import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { callDetail } from '../shapes/show-turn.ts';
import type { Answer } from '../shapes/pair-calls.ts';
import type { Block } from '../shapes/shown.ts';
import { bytes, duration, firstLine, plural, visible } from '../state/format.ts';
import { BlobFold } from './blob-fold.tsx';
import { changeCounts, Diff, editOf } from './diff.tsx';
import { Fold } from './fold.tsx';
import { isFoundIn, useFinder } from './found.tsx';
import { JsonTree } from './json-tree.tsx';
import { Markdown, Plain } from './markdown.tsx';
import { fromBase64, Picture } from './picture.tsx';

const LINES_SHOWN = 12;

/** Turns with the same payload, by its hash: the first of them that is at hand. */
export type SameBytes = (turn: string) => string | undefined;

/** Draws the blocks of a message, each call with its result. */
export function Blocks({
  blocks,
  answers,
  sameBytes,
}: {
  blocks: readonly Block[];
  answers?: ReadonlyMap<number, Answer>;
  sameBytes?: SameBytes;
}): JSX.Element {
  return (
    <>
      {blocks.map((block, at) => {
        const answer = answers?.get(at);
        const same = answer === undefined ? undefined : sameBytes?.(answer.turn);
        return block.kind === 'call' ? (
          <Call key={at} name={block.name} input={block.input} answer={answer} same={same} />
        ) : (
          <OneBlock key={at} block={block} />
        );
      })}
    </>
  );
}

function OneBlock({ block }: { block: Exclude<Block, { kind: 'call' }> }): JSX.Element {
  switch (block.kind) {
    case 'text':
      return <Markdown text={block.text} />;
    case 'thinking':
      return (
        <Fold label="Thinking" detail={firstLine(block.text, 80)}>
          <Markdown text={block.text} />
        </Fold>
      );
    case 'result':
      return <Result {...block} />;
    case 'image':
      return <Picture mediaType={block.mediaType} blob={block.ref} base64={block.base64} />;
    case 'marker':
      return (
        <div class="marker">
          <b>{visible(block.label)}</b>
          {block.text !== undefined && <Plain text={block.text} />}
        </div>
      );
    case 'blob':
      return <BlobFold hash={block.ref} />;
    case 'json':
      return <JsonTree value={block.value} />;
    case 'bytes':
      return <Hex base64={block.base64} />;
  }
}

/** A result of at most this many lines is seen without a click. */
const LINES_OPEN = 6;

function Call({
  name,
  input,
  answer,
  same,
}: {
  name: string;
  input: unknown;
  answer: Answer | undefined;
  same: string | undefined;
}): JSX.Element {
  const edit = useMemo(() => editOf(input), [input]);
  const changes = edit && changeCounts(edit);
  const lines = useMemo(() => linesOf(answer?.result.text ?? ''), [answer]);
  const isShort = answer !== undefined && lines.length > 0 && lines.length <= LINES_OPEN;
  return (
    <Fold
      label={name}
      detail={firstLine(callDetail(input), 100)}
      state={
        <>
          {changes !== undefined && (
            <span class="changes">
              <span class="good">+{changes.added}</span> <span class="bad">−{changes.removed}</span>
            </span>
          )}
          {answer !== undefined && <State failed={answer.result.failed} lines={lines.length} />}
        </>
      }
      note={answer !== undefined && answer.tookMs > 0 && duration(answer.tookMs)}
      open={edit !== undefined || isShort}
    >
      {edit !== undefined ? <Diff lines={edit} /> : <Input input={input} />}
      {answer !== undefined && edit === undefined && <Output lines={lines} same={same} />}
      {answer?.result.ref !== undefined && <BlobFold hash={answer.result.ref} />}
    </Fold>
  );
}

/** What a call was given, unless its head says it already. */
function Input({ input }: { input: unknown }): JSX.Element | null {
  if (typeof input === 'string') return input === callDetail(input) ? null : <Plain text={input} />;
  if (input === undefined || input === null) return null;
  const isSaid = Object.keys(input).length <= 1 && callDetail(input) !== '';
  return isSaid ? null : <JsonTree value={input} open={Object.keys(input).length <= 4} />;
}

function State({ failed, lines }: { failed: boolean; lines: number }): JSX.Element {
  return (
    <span class={failed ? 'bad' : 'good'}>
      {failed ? '✗ failed' : '✓'} {lines > 0 && plural(lines, 'line')}
    </span>
  );
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  while (lines.at(-1) === '') lines.pop();
  return lines;
}

/** The first lines, and the others on request. */
function Output({
  lines,
  same,
}: {
  lines: readonly string[];
  same?: string | undefined;
}): JSX.Element {
  const [all, setAll] = useState(false);
  const isLong = lines.length > LINES_SHOWN;
  const find = useFinder();
  useEffect(() => {
    if (isLong && isFoundIn(find, lines.slice(LINES_SHOWN))) setAll(true);
  }, [find, lines]);
  return (
    <div class="output">
      {lines.length > 0 && (
        <Plain text={(all || !isLong ? lines : lines.slice(0, LINES_SHOWN)).join('\n')} />
      )}
      {(isLong || same !== undefined) && (
        <p class="rest">
          {isLong && (
            <button type="button" class="quiet" onClick={() => setAll(!all)}>
              {all ? 'Show less' : `Show all ${plural(lines.length, 'line')}`}
            </button>
          )}
          {same !== undefined && <span class="muted">the same bytes as in turn {same}</span>}
        </p>
      )}
    </div>
  );
}

function Result({ name, text, failed, ref }: Block & { kind: 'result' }): JSX.Element {
  const lines = useMemo(() => linesOf(text), [text]);
  return (
    <div class="fold result">
      <div class="head">
        <b>{visible(name ?? 'Result')}</b>
        <State failed={failed} lines={lines.length} />
      </div>
      <Output lines={lines} />
      {ref !== undefined && <BlobFold hash={ref} />}
    </div>
  );
}

const HEX_BYTES = 256;

function Hex({ base64 }: { base64: string }): JSX.Element {
  const data = useMemo(() => fromBase64(base64), [base64]);
  const rows: string[] = [];
  for (let at = 0; at < Math.min(data.length, HEX_BYTES); at += 16) {
    const row = [...data.subarray(at, at + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '·'));
    rows.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${text.join('')}`);
  }
  return (
    <Fold label="Bytes" detail={bytes(data.length)}>
      <pre class="plain">{rows.join('\n')}</pre>
    </Fold>
  );
}
