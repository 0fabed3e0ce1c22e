import { crc32 } from '../../src/format/bytes.ts';
import { hashBytes } from '../../src/base/hash.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { packFile, type PackItem, scanPack } from '../../src/engine/files/packs/pack-file.ts';
import type { MapShelf } from '../../src/testing/map-shelf.ts';
import type { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { ROOT, type Sample } from './sample-store.ts';

/** Changes the bytes of a store behind its back. */
export class Planter {
  readonly #disk: MemoryIo;
  readonly #engine: Engine;
  readonly shelf: MapShelf;

  constructor({ disk, engine, shelf }: Sample) {
    this.#disk = disk;
    this.#engine = engine;
    this.shelf = shelf();
  }

  /** Heads reach their file at a checkpoint; what is planted there before would be written over. */
  async settle(): Promise<void> {
    await this.#engine.checkpoint();
  }

  read(file: string): Buffer {
    const content = this.#disk.contentOf(`${ROOT}/${file}`);
    if (content === undefined) throw new Error(`there is no file ${file}`);
    const bytes = Buffer.alloc(content.length);
    content.read(bytes, 0);
    return bytes;
  }

  async write(file: string, offset: number, bytes: Uint8Array): Promise<void> {
    const open = await this.#disk.open(`${ROOT}/${file}`, 'create');
    await open.write(bytes, offset);
    await open.sync();
    await open.close();
  }

  async flip(file: string, offset: number): Promise<void> {
    const byte = this.read(file)[offset] ?? 0;
    await this.write(file, offset, Uint8Array.of(byte ^ 0x10));
  }

  /** Changes a record and gives it a right checksum again, as only a bug could. */
  async forge(
    file: string,
    place: { offset: number; length: number },
    change: (record: Buffer) => void,
  ): Promise<void> {
    const record = this.read(file).subarray(place.offset, place.offset + place.length);
    change(record);
    record.writeUInt32LE(crc32(record.subarray(0, -4)), record.length - 4);
    await this.write(file, place.offset, record);
  }

  async cut(file: string, length: number): Promise<void> {
    const open = await this.#disk.open(`${ROOT}/${file}`, 'write');
    await open.truncate(length);
    await open.sync();
    await open.close();
  }

  async remove(file: string): Promise<void> {
    await this.#disk.remove(`${ROOT}/${file}`);
    await this.#disk.syncDir(`${ROOT}/${file}`.replace(/\/[^/]*$/, ''));
  }

  /** The blob records of a pack. */
  records(pack: number): (PackItem & { kind: 'blob' })[] {
    return [...scanPack(this.read(packFile(pack)), 0)].filter((item) => item.kind === 'blob');
  }

  /** The record of the blob with this content. */
  recordOf(pack: number, text: string): PackItem & { kind: 'blob' } {
    const hash = hashBytes(new TextEncoder().encode(text));
    const found = this.records(pack).find((item) => item.hash === hash);
    if (found === undefined) throw new Error(`there is no blob of ${JSON.stringify(text)}`);
    return found;
  }
}
