import type { ComponentChildren, JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { callDetail } from '../shapes/show-turn.ts';
import type { Block } from '../shapes/shown.ts';
import { bytes, firstLine, plural, visible } from '../state/format.ts';
import { changeCounts, Diff, editOf } from './diff.tsx';
import { JsonTree } from './json-tree.tsx';
import { Markdown, Plain } from './markdown.tsx';
import { fromBase64, Picture } from './picture.tsx';

const LINES_SHOWN = 12;

/** Draws the blocks of a message. */
export function Blocks({ blocks }: { blocks: readonly Block[] }): JSX.Element {
  return (
    <>
      {blocks.map((block, at) => (
        <OneBlock key={at} block={block} />
      ))}
    </>
  );
}

function OneBlock({ block }: { block: Block }): JSX.Element {
  switch (block.kind) {
    case 'text':
      return <Markdown text={block.text} />;
    case 'thinking':
      return (
        <Fold label="Thinking" detail={firstLine(block.text, 80)}>
          <Markdown text={block.text} />
        </Fold>
      );
    case 'call':
      return <Call name={block.name} input={block.input} />;
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
    case 'json':
      return <JsonTree value={block.value} />;
    case 'bytes':
      return <Hex base64={block.base64} />;
  }
}

export function Fold({
  label,
  detail,
  note,
  open = false,
  children,
}: {
  label: string;
  detail?: string;
  note?: ComponentChildren;
  open?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const [isOpen, setOpen] = useState(open);
  return (
    <details
      class="fold"
      open={isOpen}
      onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}
    >
      <summary>
        <b>{visible(label)}</b>
        {detail !== undefined && <code>{detail}</code>}
        <span class="note">{note}</span>
      </summary>
      {isOpen && <div class="body">{children}</div>}
    </details>
  );
}

function Call({ name, input }: { name: string; input: unknown }): JSX.Element {
  const edit = useMemo(() => editOf(input), [input]);
  const detail = firstLine(callDetail(input), 100);
  if (edit !== undefined) {
    const { added, removed } = changeCounts(edit);
    return (
      <Fold label={name} detail={detail} note={<ChangeNote added={added} removed={removed} />} open>
        <Diff lines={edit} />
      </Fold>
    );
  }
  return (
    <Fold label={name} detail={detail}>
      {typeof input === 'string' ? <Plain text={input} /> : <JsonTree value={input} />}
    </Fold>
  );
}

function ChangeNote({ added, removed }: { added: number; removed: number }): JSX.Element {
  return (
    <span>
      <span class="good">+{added}</span> <span class="bad">−{removed}</span>
    </span>
  );
}

function Result({ name, text, failed }: Block & { kind: 'result' }): JSX.Element {
  const [all, setAll] = useState(false);
  const lines = useMemo(() => text.split('\n'), [text]);
  const isLong = lines.length > LINES_SHOWN;
  const shown = all || !isLong ? text : lines.slice(0, LINES_SHOWN).join('\n');
  return (
    <div class="fold result">
      <div class="head">
        <b>{visible(name ?? 'Result')}</b>
        <span class={failed ? 'bad' : 'good'}>
          {failed ? '✗ failed' : '✓'} {plural(lines.length, 'line')}
        </span>
      </div>
      <Plain text={shown} />
      {isLong && (
        <button type="button" class="more" onClick={() => setAll(!all)}>
          {all ? 'Show less' : `Show all ${plural(lines.length, 'line')}`}
        </button>
      )}
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
