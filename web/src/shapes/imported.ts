import { showImported } from '../../../src/browser.ts';
import { toRole, type Block, type Shape } from './shown.ts';

/** Turns of imported histories: the records of an agent, with what the import knows of them. */
export const importedShape: Shape = {
  name: 'imported',
  show(payload, type) {
    const said = showImported(type, payload);
    if (said === undefined) return undefined;
    const { role, at, model, usage, kind, summary, references } = said;
    const mark: Block[] =
      kind === undefined
        ? []
        : [{ kind: 'marker', label: kind, ...(summary !== undefined && { text: summary }) }];
    const blocks = mark.length > 0 ? mark : said.blocks.flatMap((one) => toBlocks(one, references));
    if (blocks.length === 0) return undefined;
    return {
      role: toRole(role) ?? 'system',
      blocks,
      ...(at !== undefined && { at }),
      ...(model !== undefined && { model }),
      ...(usage !== undefined && { tokens: usage }),
    };
  },
};

type Said = NonNullable<ReturnType<typeof showImported>>;

function toBlocks(block: Said['blocks'][number], references: ReadonlySet<string>): Block[] {
  switch (block.is) {
    case 'text':
    case 'thinking':
      if (references.has(block.text)) return [{ kind: 'blob', ref: block.text }];
      return block.text === '' ? [] : [{ kind: block.is, text: block.text }];
    case 'call': {
      const { id, name, input } = block;
      return [{ kind: 'call', ...(id !== '' && { id }), name: name || 'tool', input }];
    }
    case 'result': {
      const { id, text, failed, images } = block;
      const isBlob = references.has(text);
      const said = isBlob ? { text: '', ref: text } : { text };
      return [
        { kind: 'result', ...(id !== '' && { id }), failed, ...said },
        ...images.flatMap((image) => toBlocks(image, references)),
      ];
    }
    case 'image': {
      const data = references.has(block.data) ? { ref: block.data } : { base64: block.data };
      return [{ kind: 'image', mediaType: block.mime, ...data }];
    }
  }
}
