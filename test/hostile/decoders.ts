import { toHash } from '../../src/base/brand.ts';
import { decompress } from '../../src/base/compress.ts';
import { readLine, Upcasters } from '../../src/chat/events/read-line.ts';
import { decodePayload } from '../../src/context/payloads/codecs.ts';
import { assertJsonText } from '../../src/engine/json-text.ts';
import { decodeCheckpoint, decodeFrameBody } from '../../src/format/journal-frame.ts';
import { decodeChunkList } from '../../src/format/blob-record.ts';
import {
  decodeCollectedMap,
  decodeDelta,
  decodeTypeLine,
  Encoding,
} from '../../src/format/turn-record.ts';
import { decodeDocDifference } from '../../src/format/doc-record.ts';
import { decodeFormatFile } from '../../src/format/format-file.ts';
import { parseRefs } from '../../src/maintain/named-blobs.ts';
import { parseLine } from '../../src/session/log/session-file.ts';
import { fromCall } from '../../src/wire/call-values.ts';
import { parseNode } from '../../src/workflow/home/nodes.ts';

/** Makes a value of bytes that a stranger wrote, or throws. */
export type Decode = (bytes: Buffer) => unknown;

const UPCASTERS = new Upcasters([]);
const HASH = toHash('0'.repeat(64));

/** Every decoder of what a client, a file or a database may hold. The frames of the wire have a fuzz test of their own. */
export const DECODERS: Readonly<Record<string, Decode>> = {
  'a payload in MessagePack': (bytes) => decodePayload(bytes, Encoding.msgpack),
  'a payload in CBOR': (bytes) => decodePayload(bytes, Encoding.cbor),
  'a payload in JSON': (bytes) => decodePayload(bytes, Encoding.json),
  'the values of a call': (bytes) => fromCall({ json: bytes.toString('latin1'), blobs: [] }),
  'a document or a line of a log': (bytes) => assertJsonText(bytes.toString('latin1'), 'it'),
  'a line of a chat': (bytes) => readLine(bytes.toString('latin1'), 1, UPCASTERS),
  'a line of a session': parseLine,
  'a node of a workflow': (bytes) => parseNode(HASH, bytes),
  'the references of a node': parseRefs,
  // A block of 4 bytes may hold 128 KiB, and callers bound what they claim: few bytes hold little.
  'zstd of a claimed length': (bytes) => decompress(bytes.subarray(0, 256), claimed(bytes)),
  'a list of chunks': decodeChunkList,
  'a map of what was collected': decodeCollectedMap,
  'a difference of documents': (bytes) => decodeDocDifference(bytes.toString('latin1')),
  'the body of a journal frame': (bytes) =>
    decodeFrameBody(
      { seq: 1, bodyLength: claimed(bytes), writeCount: claimed(bytes) } as never,
      bytes,
    ),
  'a checkpoint': decodeCheckpoint,
  'a delta of an open turn': (bytes) => decodeDelta(bytes),
  'a line of types': decodeTypeLine,
  'the file FORMAT': decodeFormatFile,
};

/** The length that a header says, whatever it says. */
export function claimed(bytes: Buffer): number {
  return bytes.length < 4 ? 0 : bytes.readUInt32LE(0);
}
