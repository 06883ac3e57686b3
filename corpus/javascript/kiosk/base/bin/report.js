#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { report } from '../src/report.js';

process.stdout.write(report(JSON.parse(readFileSync(process.argv[2], 'utf8'))));
