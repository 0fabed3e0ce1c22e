import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PUSH, Rig, SUBSCRIBE, start } from '../../../test/queue/command-rig.ts';

describe('thread', () => {
  it('makes a thread of a folder, once', async () => {
    const rig = new Rig();
    mkdirSync(join(rig.cwd, 't'));
    writeFileSync(join(rig.cwd, 't', 'notes.txt'), 'mine');
    expect((await rig.run('init', 't')).code).toBe(0);
    expect(readdirSync(join(rig.cwd, 't')).toSorted()).toEqual([
      'events.db',
      'events.jsonl',
      'logs',
      'notes.txt',
      'run',
    ]);
    const again = await rig.run('init', 't');
    expect(again).toMatchObject({ code: 1, out: '' });
    expect(again.err).toMatch(/^Error: .* is a thread directory already - /);
  });

  it('does everything on a thread that is there', async () => {
    const rig = await start();
    expect((await rig.on('subscribe', ...SUBSCRIBE)).out).toBe('Subscribed w\n');
    expect((await rig.on('push', ...PUSH)).out).toBe('Pushed event 1\n');
    const line = '{"source":"a","type":"record","subtype":"toolcall","content":"{\\"x\\":1}"}';
    const batch = await rig.feed(
      `${line}\n\n${line}`,
      'push',
      '--thread',
      't',
      '--batch',
      '--json',
    );
    expect(batch).toEqual({ code: 0, out: '{"ids":[2,3]}\n', err: '' });
    const popped = await rig.on('pop', '--consumer', 'w', '--last-event-id', '1', '--limit', '1');
    expect(popped.out).toMatch(
      /^\{"id":2,"created_at":"[^"]+Z","source":"a","type":"record","subtype":"toolcall","content":"\{\\"x\\":1\}"\}\n$/,
    );
    const peeked = await rig.on(
      'peek',
      '--last-event-id',
      '0',
      '--filter',
      'subtype IS NULL',
      '--json',
    );
    expect(peeked.out.match(/"id":\d+/g)).toEqual(['"id":1']);
    expect((await rig.on('info')).out).toMatch(
      /^thread .*\/t\nevents +3\n[^]*CONSUMER +STATE +ACKED +LAG/,
    );
    expect((await rig.on('unsubscribe', '--consumer', 'w')).out).toBe('Unsubscribed w\n');
    expect((await rig.on('dispatch')).out).toBe('');
    const info = JSON.parse((await rig.on('info', '--json')).out) as object;
    expect(info).toMatchObject({
      event_count: 3,
      subscriptions: [],
      progress: [{ last_acked_id: 1 }],
    });
  });

  it.each([
    ['push', ...PUSH],
    ['pop', '--consumer', 'w', '--last-event-id', '0'],
    ['peek', '--last-event-id', '0'],
    ['subscribe', ...SUBSCRIBE],
    ['unsubscribe', '--consumer', 'w'],
    ['info'],
    ['dispatch'],
  ])('says what to do where there is no thread: %s', async (command, ...argv) => {
    const rig = new Rig();
    mkdirSync(join(rig.cwd, 't'));
    expect(await rig.on(command, ...argv)).toEqual({
      code: 1,
      out: '',
      err: `Error: ${rig.cwd}/t is not a thread directory - run first: thread init ${rig.cwd}/t\n`,
    });
  });

  it.each([
    [['push', '--thread', 't'], /'--source' is not given/],
    [['push', ...PUSH], /required option '--thread <path>'/],
    [
      ['push', '--thread', '', ...PUSH],
      /'--thread <path>' argument '' is invalid. Expected a text/,
    ],
    [
      ['push', '--thread', 't', '--source', 's', '--type', 'note', '--content', 'x'],
      /message or record/,
    ],
    [
      ['push', '--thread', 't', '--source', '', '--type', 'message', '--content', 'x'],
      /Expected a text that is not empty/,
    ],
    [
      ['push', '--thread', 't', '--source', 'external:a', '--type', 'message', '--content', 'x'],
      /6 are needed/,
    ],
    [['push', '--thread', 't', ...PUSH, '--subtype', 'A b'], /lower-case word/],
    [['push', '--thread', 't', ...PUSH, '--verbose'], /unknown option '--verbose'/],
    [['pop', '--thread', 't', '--consumer', 'w'], /'--last-event-id <id>'/],
    [['pop', '--thread', 't', '--consumer', 'w', '--last-event-id', '12abc'], /whole number/],
    [['pop', '--thread', 't', '--consumer', 'w', '--last-event-id', '-1'], /whole number/],
    [['pop', '--thread', 't', '--consumer', 'w', '--last-event-id', '0', '--limit', '0'], /limit/],
    [['pop', '--thread', 't', '--consumer', 'a/b', '--last-event-id', '0'], /without slashes/],
    [['peek', '--thread', 't', '--last-event-id', '0', '--filter', '1;'], /character 2/],
    [
      ['peek', '--thread', 't', '--last-event-id', '0', '--filter', ''],
      /Expected a text that is not empty/,
    ],
    [['subscribe', '--thread', 't', '--consumer', '../x', '--handler', 'true'], /without slashes/],
    [
      ['subscribe', '--thread', 't', '--consumer', 'x', '--handler', 'true', '--filter', 'x = 1'],
      /no column x/,
    ],
    [['dispatch', '--thread', 't', '--json'], /unknown option '--json'/],
    [['unsubscribe', '--thread', 't', '--consumer', 'w', '--json'], /unknown option '--json'/],
    [['frobnicate'], /unknown command/],
  ])('refuses %j with exit code 2', async (argv, problem) => {
    const rig = await start();
    await rig.on('subscribe', ...SUBSCRIBE);
    const ran = await rig.run(...argv);
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toMatch(argv.includes('--json') ? /^\{"error":.*\}\n$/ : /^Error: .* - .*\n$/);
    expect(ran.err).toMatch(problem);
    expect((await rig.on('info', '--json')).out).toMatch(/"event_count":0/);
  });

  it.each([
    ['{"source":"a","type":"message","content":"x"}\nnot json', /line 2 is not JSON/],
    ['[1]', /line 1 is not a JSON object/],
    ['{"source":"a","type":"message"}', /line 1 has no "content"/],
    ['{"source":"a","type":"message","content":{"a":1}}', /line 1: content must be a text/],
    ['{"source":"a","type":"message","content":"x","tpye":1}', /unknown field "tpye"/],
    ['{"source":"a","type":"message","content":"\\ud800"}', /surrogate/],
    [Buffer.from([0x7b, 0xff, 0x7d]), /line 1 is not valid UTF-8/],
    [
      `\n{"source":"a","type":"message","content":"${'x'.repeat(10_000_000)}"}`,
      /line 2: a line has more than/,
    ],
    [
      `{"source":"a","type":"message","content":"${'x'.repeat(8_500_000)}"}`,
      /line 1: content has at most/,
    ],
  ])('refuses a batch and stores nothing of it: %#', async (input, problem) => {
    const rig = await start();
    const ran = await rig.feed(input, 'push', '--thread', 't', '--batch', '--json');
    expect(ran).toMatchObject({ code: 2, out: '' });
    const { error, suggestion } = JSON.parse(ran.err) as { error: string; suggestion: string };
    expect(error).toMatch(problem);
    expect(suggestion).not.toBe('');
    expect((await rig.on('info', '--json')).out).toMatch(/"event_count":0/);
  });

  it('answers 1 for what is there already, or not', async () => {
    const rig = await start();
    await rig.on('subscribe', ...SUBSCRIBE);
    const again = await rig.on('subscribe', ...SUBSCRIBE, '--json');
    expect(again).toEqual({
      code: 1,
      out: '',
      err: '{"error":"consumer w is subscribed already","suggestion":"run first: thread unsubscribe --thread t --consumer w, then subscribe again"}\n',
    });
    expect((await rig.on('unsubscribe', '--consumer', 'x')).code).toBe(1);
    expect((await rig.on('pop', '--consumer', 'x', '--last-event-id', '0')).code).toBe(1);
  });

  it('has help for every command, and more with --verbose', async () => {
    const rig = new Rig();
    const { out } = await rig.run('--help');
    const names = [...out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name!);
    expect(names).toEqual([
      'init',
      'push',
      'pop',
      'peek',
      'subscribe',
      'unsubscribe',
      'info',
      'dispatch',
      'verify',
      'help',
    ]);
    for (const name of names.slice(0, -1)) {
      const short = await rig.run(name, '--help');
      expect(short).toMatchObject({ code: 0, err: '' });
      expect(short.out).not.toContain('Examples:');
      expect((await rig.run(name, '--help', '--verbose')).out).toContain(`$ thread ${name} `);
    }
    expect((await rig.run('--help', '--verbose')).out).toContain('Examples:');
    expect(await rig.run()).toMatchObject({ code: 2, out: '' });
    expect(existsSync(join(rig.cwd, 't'))).toBe(false);
  });
});
