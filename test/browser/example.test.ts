import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { serveHttp } from '../service/http-rig.ts';
import { closeBrowser, openBrowser } from '../support/chromium.ts';
import { projectPath } from '../support/project.ts';

afterAll(closeBrowser);

it('examples/browser-client.mjs shows in one window what another one says', async () => {
  const example = spawn(process.execPath, [projectPath('examples/browser-client.mjs'), '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void example.kill('SIGKILL'));
  const [said] = (await once(example.stdout, 'data')) as [Buffer];
  const origin = said.toString().trim();
  const { url } = await serveHttp({ origins: [origin] });

  const context = await (await openBrowser()).newContext();
  onTestFinished(() => context.close());
  const [one, two] = [await context.newPage(), await context.newPage()];
  for (const page of [one, two]) await page.goto(`${origin}/?server=${url}`);
  await one.getByLabel('Message').fill('hello from one');
  await one.getByRole('button').click();
  await two.getByText('hello from one').waitFor();
  const missing = await fetch(`${origin}/quipudb/../package.json`);
  expect(await missing.text()).toContain('<!doctype html>');
});
