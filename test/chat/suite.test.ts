import { chatSuite } from '../../src/testing/chat-suite/chat-suite.ts';
import { filesTarget } from '../support/files-target.ts';

chatSuite(filesTarget());
