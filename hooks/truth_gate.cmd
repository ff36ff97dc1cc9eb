@echo off
rem The Truth Gate on Windows. Tries this checkout with the first Python that really runs (the
rem store's stub answers nothing), then hikmah on PATH, then allows. Always exits 0.
rem No labels (they need CRLF), no blocks (they would expand too early), no where.exe.
setlocal
set "GATE=%~dp0truth_gate.py"
set "RUN="
if exist "%GATE%" for %%P in ("py -3" python python3) do if not defined RUN for /f %%A in ('%%~P -c "print(1)" 2^>nul') do if "%%A"=="1" set "RUN=%%~P"
if defined RUN %RUN% "%GATE%" %* & exit /b 0
set "FOUND="
for %%H in (hikmah.exe hikmah.cmd hikmah.bat) do if not defined FOUND if not "%%~$PATH:H"=="" set "FOUND=%%~$PATH:H"
if defined FOUND call "%FOUND%" hook %* & exit /b 0
echo {}
exit /b 0
